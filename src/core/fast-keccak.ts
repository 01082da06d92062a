// This function is in a separate file, so that it can be imported on demand. Most commands hash few or no addresses.
import { createKeccak } from 'hash-wasm'

/** Creates a Keccak-256 function in WebAssembly, whose 64-bit integers make it several times as fast as JavaScript. */
export async function createFastKeccak(): Promise<(message: Uint8Array) => Uint8Array> {
  const hasher = await createKeccak(256)
  return (message) => hasher.init().update(message).digest('binary')
}
