import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generatePrivateKey } from 'viem/accounts'
import { beforeEach, expect, test } from 'vitest'
import { KNOWN_NAMES } from '../../../src/api/blockchains.ts'
import { writeKeystore, writePassword } from '../../helpers/keystore-file.ts'
import { startPublicNetwork } from '../../helpers/public-network.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { cli } from '../harness.ts'

let dir: string
beforeEach(async () => {
  dir = await temporaryFolder('gdn-chains-')
})

const configure = async (chains: Readonly<Record<string, object>>) => {
  const operators = [{ keystore: 'operator.json', password_file: 'password' }]
  const entries = Object.entries(chains).map(([name, chain]) => [name, { operators, ...chain }])
  await writeFile(join(dir, 'backend.yaml'), JSON.stringify({ chains: Object.fromEntries(entries) }), { mode: 0o600 })
}
const list = (...flags: string[]) => cli(['chain', 'list', '--data-dir', dir, ...flags])

test('chain list shows every known blockchain as an embedded chain if nothing is configured', async () => {
  const { stdout } = await list('--json')
  const rows: { blockchain: string; network: string }[] = JSON.parse(stdout)
  expect(rows.map(({ blockchain }) => blockchain)).toEqual(KNOWN_NAMES)
  expect(new Set(rows.map(({ network }) => network))).toEqual(new Set(['embedded']))
  expect(rows).toContainEqual(
    expect.objectContaining({ blockchain: 'base', chain_id: 8453, currency: 'ETH', fee_model: 'op-stack' }),
  )
  expect((await list()).stderr).toContain('No public network is configured')
})

test('chain list shows configured networks first, with the hosts of their nodes and no key', async () => {
  await configure({
    'studio-chain': { rpc_urls: ['https://node.studio.example/KEY'], chain_id: 412_346 },
    fantom: { rpc_urls: ['https://one.example/v2/KEY', 'https://two.example'] },
  })
  const { stdout } = await list()
  expect(stdout).not.toContain('KEY')
  expect(stdout.split('\n').slice(0, 3)).toEqual([
    'studio-chain\t412346\t\t["node.studio.example"]\t',
    'fantom\t250\tFTM\t["one.example","two.example"]\tsonic',
    expect.stringMatching(/^polygon\t137\tPOL\tembedded\t$/),
  ])
  const rows: { blockchain: string }[] = JSON.parse((await list('--json')).stdout)
  expect(rows.find(({ blockchain }) => blockchain === 'polygon-mumbai')).toMatchObject({
    ...{ retired_since: 'April 2024', successor: 'polygon-amoy', network: 'embedded' },
  })
})

test('chain setup names the successor of a network that was succeeded', async () => {
  const network = await startPublicNetwork([], { chainId: 250 })
  try {
    await configure({ fantom: { rpc_urls: [network.url] } })
    for (const name of ['operator', 'admin']) await writeKeystore(join(dir, `${name}.json`), generatePrivateKey())
    await writePassword(join(dir, 'password'))
    const { code, stderr } = await cli([
      ...['chain', 'setup', 'fantom', '--dry-run', '--data-dir', dir],
      ...['--admin-keystore', join(dir, 'admin.json'), '--password-file', join(dir, 'password')],
    ])
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining(
        'fantom was replaced by sonic in December 2024. Use sonic (chain ID 146) for new collections.',
      ),
    })
  } finally {
    await network.close()
  }
})
