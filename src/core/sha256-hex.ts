import { hash } from 'node:crypto'

/** Returns the SHA-256 hash of bytes or of a text in UTF-8, in hexadecimal. */
export const sha256Hex = (data: string | NodeJS.ArrayBufferView): string => hash('sha256', data, 'hex')
