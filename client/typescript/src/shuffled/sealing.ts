/**
 * HPKE (RFC 9180) in base mode: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM, without additional data.
 *
 * A report is sealed in the transaction of its debit, where nothing can be awaited. So all that WebCrypto does comes
 * before: the key stream, which is the encryption of zeros, and the two blocks that a tag is made of. What is left is XOR
 * and the sum of GHASH (NIST SP 800-38D, section 6.4).
 */

import { bigEndian, joined, toBigEndian } from "../bytes.ts";
import { InvalidValue } from "../errors.ts";
import { expand, hmac } from "./hkdf.ts";

const TEXT = new TextEncoder();
const VERSION = TEXT.encode("HPKE-v1");
const KEM = joined(TEXT.encode("KEM"), Uint8Array.of(0, 0x20));
const SUITE = joined(TEXT.encode("HPKE"), Uint8Array.of(0, 0x20, 0, 1, 0, 1));
const NOTHING = new Uint8Array();
/** The polynomial of GHASH, whose bits are in reverse. */
const REDUCTION = 0xe1n << 120n;

export interface Pair {
  readonly publicKey: CryptoKey;
  readonly privateKey: CryptoKey;
}

/** Throws InvalidValue where the platform cannot seal. */
export async function makePair(): Promise<Pair> {
  try {
    return (await crypto.subtle.generateKey({ name: "X25519" }, false, ["deriveBits"])) as CryptoKeyPair;
  } catch (error) {
    throw new InvalidValue(`this platform cannot seal reports: WebCrypto with X25519 is missing (${String(error)})`);
  }
}

/**
 * What seals one plaintext of `length` bytes for the key: the ephemeral key, the encrypted bytes, the tag. Sealing two
 * plaintexts with one sealer would tell their difference: of what a transaction draws again one alone is ever sent.
 */
export async function sealer(
  publicKey: Uint8Array<ArrayBuffer>,
  info: Uint8Array,
  length: number,
  { publicKey: own, privateKey }: Pair,
): Promise<(plaintext: Uint8Array) => Uint8Array<ArrayBuffer>> {
  const { subtle } = crypto;
  const enc = new Uint8Array(await subtle.exportKey("raw", own));
  const peer = await subtle.importKey("raw", publicKey, { name: "X25519" }, false, []);
  const shared = new Uint8Array(await subtle.deriveBits({ name: "X25519", public: peer }, privateKey, 256));
  const { key, nonce } = schedule(shared, joined(enc, publicKey), info);
  const stream = await gcm(key, nonce, new Uint8Array(length));
  const mask = await gcm(key, nonce, NOTHING);
  // The encryption of a block of zeros, by the first block of a chain that begins with zeros.
  const chain = await subtle.importKey("raw", key, "AES-CBC", false, ["encrypt"]);
  const zeros = new Uint8Array(16);
  const hashKey = new Uint8Array(await subtle.encrypt({ name: "AES-CBC", iv: zeros }, chain, zeros)).subarray(0, 16);
  return (plaintext) => {
    if (plaintext.length !== length) throw new InvalidValue(`the sealer is for ${length} bytes`);
    const encrypted = plaintext.map((byte, at) => byte ^ stream[at]!);
    const hashed = ghash(bigEndian(hashKey), encrypted);
    return joined(enc, encrypted, toBigEndian(hashed ^ bigEndian(mask), 16));
  };
}

function schedule(shared: Uint8Array, context: Uint8Array, info: Uint8Array) {
  const agreed = labeledExpand(KEM, labeledExtract(KEM, NOTHING, "eae_prk", shared), "shared_secret", context, 32);
  const hashes = [labeledExtract(SUITE, NOTHING, "psk_id_hash", NOTHING), labeledExtract(SUITE, NOTHING, "info_hash", info)];
  const mode = joined(Uint8Array.of(0), ...hashes);
  const secret = labeledExtract(SUITE, agreed, "secret", NOTHING);
  return { key: labeledExpand(SUITE, secret, "key", mode, 16), nonce: labeledExpand(SUITE, secret, "base_nonce", mode, 12) };
}

function labeledExtract(suite: Uint8Array, salt: Uint8Array, label: string, input: Uint8Array): Uint8Array {
  return hmac(salt, VERSION, suite, TEXT.encode(label), input);
}

function labeledExpand(suite: Uint8Array, secret: Uint8Array, label: string, info: Uint8Array, length: number) {
  return expand(secret, joined(toBigEndian(BigInt(length), 2), VERSION, suite, TEXT.encode(label), info), length);
}

/** What AES-128-GCM makes of a plaintext: encrypted, then the tag. */
async function gcm(
  key: Uint8Array<ArrayBuffer>,
  iv: Uint8Array<ArrayBuffer>,
  plaintext: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array> {
  const imported = await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt"]);
  return new Uint8Array(await crypto.subtle.encrypt({ name: "AES-GCM", iv }, imported, plaintext));
}

/** GHASH of encrypted bytes without additional data, as a number. */
function ghash(key: bigint, encrypted: Uint8Array): bigint {
  let found = 0n;
  for (let start = 0; start < encrypted.length; start += 16) {
    const block = new Uint8Array(16);
    block.set(encrypted.subarray(start, start + 16));
    found = times(found ^ bigEndian(block), key);
  }
  return times(found ^ (8n * BigInt(encrypted.length)), key);
}

function times(first: bigint, second: bigint): bigint {
  let found = 0n;
  for (let bit = 127n; bit >= 0n; bit--) {
    if ((first >> bit) & 1n) found ^= second;
    second = (second >> 1n) ^ (second & 1n ? REDUCTION : 0n);
  }
  return found;
}
