import { readFileSync } from 'node:fs'
import { encodeAbiParameters } from 'viem'
import type { Hex } from '../../src/server/chain/evm/network.ts'

const text = readFileSync(new URL('first-factory.base64', import.meta.url), 'utf8')

/** Code that deploys the factory of the first version, which this gdn no longer compiles. Operators follow it. */
export const firstFactoryCode: Hex = `0x${Buffer.from(text, 'base64').toString('hex')}`

/** Returns init code that deploys a factory of the first version. Its sender becomes the admin. */
export const encodeDeployFirstFactory = (operators: readonly Hex[]): Hex =>
  `${firstFactoryCode}${encodeAbiParameters([{ type: 'address[]' }], [operators]).slice(2)}`
