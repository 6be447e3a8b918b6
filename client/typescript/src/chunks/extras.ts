/** What few campaigns have or need: arms, texts, several servers, and a move to another address. */

export { arms, servers, textFor, texts } from "../documents/extras.ts";
export { armOf, rehome } from "../moving.ts";
