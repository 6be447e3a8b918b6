/** What few campaigns have or need: arms, texts, several servers, emoji, and a move to another address. */

export { withoutEmoji } from "../documents/emoji.ts";
export { arms, checkArms, servers, textFor, texts } from "../documents/extras.ts";
export { armOf, rehome } from "../moving.ts";
