/** Encodes a program's argument as an unsigned 32-bit integer. */

export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

export function u64(value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

export function encodeText(value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([u32(bytes.length), bytes])
}
