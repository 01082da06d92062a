import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { readSettings } from '../../../src/server/settings/read-settings.ts'
import { temporaryDataDir } from '../../helpers/backend.ts'

let dir: string
beforeEach(async () => {
  dir = await temporaryDataDir()
})

async function settings(blockchain: string, more = ''): Promise<string> {
  const path = join(dir, 'backend.yaml')
  const text = `chains:
  ${blockchain}:
    rpc_urls: ['https://node.example/v2/a-key-of-a-provider']
${more}    operators: [{ keystore: op.json, password_file: password }]
`
  await writeFile(path, text, { mode: 0o600 })
  return path
}

test.each([
  ['polygon-mumbai', 'polygon-amoy', 80002],
  ['optimism-goerli', 'optimism-sepolia', 11155420],
  ['arbitrum-testnet', 'arbitrum-sepolia', 421614],
])('rejects %s by RPC URL as shut down and names its successor %s', async (blockchain, successor, chainId) => {
  const path = await settings(blockchain)
  expect(() => readSettings(path)).toThrow(
    expect.objectContaining({
      code: 'invalid_config',
      message: expect.stringMatching(/was shut down in .*2024/),
      hint: expect.stringMatching(new RegExp(`successor ${successor} .*chain_id: ${chainId}\\. .*embedded`)),
      place: { file: path, field: `chains.${blockchain}` },
    }),
  )
})

test.each(['polygon-mumbai', 'optimism-goerli', 'fantom-testnet'])(
  'accepts %s as the name of another network with a chain_id',
  async (blockchain) => {
    const { chains } = readSettings(await settings(blockchain, '    chain_id: 64165\n'))
    expect([...chains.values()]).toMatchObject([{ blockchain, chainId: 64165 }])
  },
)
