import { fileURLToPath } from 'node:url'
import { encodeAbiParameters } from 'viem'
import { compileSolidity, readSources } from '../../src/build/contracts.mjs'
import type { Hex } from '../../src/server/chain/evm/network.ts'

const folder = fileURLToPath(new URL('first-version', import.meta.url))
const compiled = compileSolidity(readSources(folder), folder).GdnFactory
if (compiled === undefined) throw new Error('the sources have no factory')

/** Code that deploys the factory of the first version, compiled from its sources. Operators follow it. */
export const firstFactoryCode: Hex = compiled.bytecode

/** Returns init code that deploys a factory of the first version. Its sender becomes the admin. */
export const encodeDeployFirstFactory = (operators: readonly Hex[]): Hex =>
  `${firstFactoryCode}${encodeAbiParameters([{ type: 'address[]' }], [operators]).slice(2)}`
