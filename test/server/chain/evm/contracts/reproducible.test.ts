/** @module-tag slow */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compile, contractsIn, type StandardInput } from '../../../../../src/build/contracts.mjs'
import { gdnFactory } from '../../../../../src/server/chain/evm/contracts/generated/artifacts.ts'
import { deployedCode, standardInput } from '../../../../../src/server/chain/evm/contracts/generated/verification.ts'
import {
  encodeDeployFactory,
  factoryAddress,
  implementationAddress,
} from '../../../../../src/server/chain/evm/factory.ts'
import type { Hex } from '../../../../../src/server/chain/evm/network.ts'
import { checkCode } from '../../../../../src/server/setup/verify/contracts.ts'
import { WALLETS } from '../../../../helpers/backend.ts'
import { type PlainAnvil, startPlainAnvil } from '../../../../helpers/plain-anvil.ts'

const CONTRACT_NAMES = ['GdnFactory', 'GdnCollection'] as const
const input = JSON.parse(standardInput) as StandardInput

/** The sha2-256 multihash of the metadata in a contract's CBOR, which is at its end. */
const ipfsHashOf = (code: string) => /64697066735822(1220[0-9a-f]{64})64736f6c6343[0-9a-f]{6}0033$/.exec(code)?.[1]

describe('the standard JSON input', () => {
  let anvil: PlainAnvil
  beforeAll(async () => {
    anvil = await startPlainAnvil()
  })
  afterAll(() => anvil.stop())

  it('names sources by their import path, which no machine changes', () => {
    const names = Object.keys(input.sources)
    expect(names).toEqual(names.toSorted())
    expect(names).toContain('GdnFactory.sol')
    for (const name of names)
      expect(name).toMatch(/^(?:[A-Za-z0-9]+|@openzeppelin\/contracts\/.+|erc721a-upgradeable\/.+)\.sol$/)
  })

  it('compiles alone to what the factory deploys, with the hash of the metadata', async () => {
    // What is selected for output is no part of the settings that are hashed.
    const outputSelection = { '*': { '*': ['abi', 'metadata', 'evm.bytecode.object', 'evm.deployedBytecode'] } }
    const output = compile({ ...input, settings: { ...input.settings, outputSelection } })
    const contracts = contractsIn(output, ['GdnFactory.sol', 'GdnCollection.sol'])
    expect(contracts.GdnFactory?.bytecode).toBe(gdnFactory.bytecode)

    const [admin] = anvil.accounts as [Hex]
    const factory = factoryAddress(admin)
    await anvil.send(admin, null, encodeDeployFactory([WALLETS[1]]))
    const addresses = { GdnFactory: factory, GdnCollection: implementationAddress(factory) }
    for (const name of CONTRACT_NAMES) {
      const contract = contracts[name]
      expect(contract?.deployed).toEqual(deployedCode[name])
      const onChain = await anvil.request<Hex>('eth_getCode', [addresses[name], 'latest'])
      expect(ipfsHashOf(onChain)).toBe(ipfsHashOf(contract?.deployed.code ?? ''))
      // The hash is that of the metadata, which has the hash of each source.
      const metadata = output.contracts[`${name}.sol`]?.[name]?.metadata ?? ''
      expect(await ipfsDigest(metadata)).toBe(ipfsHashOf(onChain))
      await checkCode(anvil, { ...NOTHING, name, address: addresses[name] })
    }
  })

  it('is not taken for the code of another contract, or of none', async () => {
    const [admin] = anvil.accounts as [Hex]
    const factory = factoryAddress(admin)
    await expect(checkCode(anvil, { ...NOTHING, name: 'GdnCollection', address: factory })).rejects.toMatchObject({
      code: 'verify_failed',
      message: `the contract was compiled from different source code at ${factory}, where GdnCollection is expected`,
    })
    await expect(checkCode(anvil, { ...NOTHING, name: 'GdnFactory', address: WALLETS[2] })).rejects.toMatchObject({
      message: expect.stringMatching(/^there is no contract at 0x/),
    })
  })
})

const NOTHING = { identifier: '', constructorArguments: null, creationTransaction: null }

/** The hash of a small file in IPFS: a UnixFS node with its bytes. */
async function ipfsDigest(text: string): Promise<string> {
  const { importer } = await import('ipfs-unixfs-importer')
  const put = { get: async function* () {}, put: async (cid: never) => cid, has: async () => false }
  const file = [{ content: new TextEncoder().encode(text) }]
  const options = { cidVersion: 0 as const, rawLeaves: false }
  for await (const { cid } of importer(file, put as never, options))
    return Buffer.from(cid.multihash.bytes).toString('hex')
  throw new Error('nothing was imported')
}
