import { type Hex, toFunctionSelector } from 'viem'

const word = (value: bigint | number): string => value.toString(16).padStart(64, '0')

/** Returns a number as the data that a function returns. */
export const wordOf = (value: bigint | number): Hex => `0x${word(value)}`

/** Returns a text as the data that a function returns. */
export function textIn(value: string): Hex {
  const bytes = Buffer.from(value)
  const padded = Math.ceil(bytes.length / 32) * 64
  return `0x${word(32)}${word(bytes.length)}${bytes.toString('hex').padEnd(padded, '0')}`
}

/** Returns the addresses 1 to `size` as the data that a function returns. */
export const addressesIn = (size: number): Hex =>
  `0x${word(32)}${word(size)}${Array.from({ length: size }, (_, at) => word(at + 1)).join('')}`

/** Bytecode that runs for a call: `returns` ends it with data, anything else is code in hex. */
export type Behavior = Hex | { code: string }

const byte = (value: number, bytes = 1): string => value.toString(16).padStart(bytes * 2, '0')

/** Code that returns or reverts with data. */
export function endWith(data: Hex, opcode: 'f3' | 'fd' = 'f3'): string {
  const words = data.slice(2).match(/.{1,64}/g) ?? []
  const stores = words.map((part, at) => `7f${part.padEnd(64, '0')}61${byte(at * 32, 2)}52`)
  return `${stores.join('')}61${byte((data.length - 2) / 2, 2)}6000${opcode}`
}

/** Code that returns a number of bytes, all 0. */
export const returnBytes = (size: number): string => `63${byte(size, 4)}6000f3`

/** Code that never ends, so that it uses all gas. */
export const BURN_GAS = 'fe'

const HEAD = '60003560e01c'
const CHECK_BYTES = 11

/**
 * Returns runtime code that answers functions as given, and reverts for any other. `otherwise` is the code for those.
 */
export function answering(answers: Readonly<Record<string, Behavior>>, otherwise = '60006000fd'): Hex {
  const all = Object.entries(answers)
  let at = HEAD.length / 2 + all.length * CHECK_BYTES + otherwise.length / 2
  let [checks, bodies] = ['', '']
  for (const [signature, behavior] of all) {
    const body = `5b${typeof behavior === 'string' ? endWith(behavior) : behavior.code}`
    checks += `8063${toFunctionSelector(signature).slice(2)}1461${byte(at, 2)}57`
    bodies += body
    at += body.length / 2
  }
  return `0x${HEAD}${checks}${otherwise}${bodies}`
}
