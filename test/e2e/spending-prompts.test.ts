/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { announce, fakeApi, nft } from '../cli/fake-api.ts'
import { OWNER } from '../helpers/addresses.ts'
import { createTestCollection, mint, plainMetadata, settled, type TestBackend } from '../helpers/backend.ts'
import { type GdnHome, makeHome } from '../helpers/gdn.ts'
import { type NetworkPlace, setUpNetwork } from '../helpers/network-backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../helpers/public-network.ts'
import { atTerminal, HAS_PTY } from '../helpers/terminal.ts'

const OTHER = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'
const SHORT_OWNER = '0xfB69…d359'
const CTRL_D = '\u0004'
const KEY = 'gdn_0123456789abcdefghijklmnopqrstuvwxyz'

beforeEach(({ skip }) => skip(!HAS_PTY, 'needs a pseudo-terminal: script of util-linux is not installed'))

async function home(): Promise<GdnHome> {
  const made = await makeHome()
  onTestFinished(() => made.remove())
  return made
}

/** Questions are wrapped to the terminal, so they are compared without spaces. */
const compact = (text: string) => text.replaceAll(/\s/g, '')

/** Returns the question of a command on a terminal, compact, after answering no or as given. */
async function questionOf(argv: string, env: NodeJS.ProcessEnv, answer = 'n\r'): Promise<string> {
  const terminal = atTerminal(argv, env)
  await terminal.showsNow(/y\s*\/\s*N/i)
  terminal.type(answer)
  const { code, screen } = await terminal.end()
  expect(code, screen).toBe(3)
  const shown = screen.replaceAll(/\u001b\[[0-9;?]*[A-Za-z]/g, '')
  if (answer !== CTRL_D) expect(shown).toContain('? (y/N) ')
  return compact(shown)
}

describe('a prompt on a public network', () => {
  let network: PublicNetwork
  let place: NetworkPlace
  let backend: TestBackend
  let stopMining: () => Promise<void>
  let contract: string
  let nft: string

  beforeAll(async () => {
    network = await startPublicNetwork()
    place = await setUpNetwork(network)
    stopMining = network.mineEvery(30)
    backend = await place.start()
    const rights = { enable_transfer: true, enable_burn: true, dynamic: true }
    const collection = await createTestCollection(backend, rights)
    contract = collection.address
    const [id = ''] = await mint(backend, collection, plainMetadata(1), { receiver: OWNER })
    nft = id
    expect(await settled(backend, [nft])).toMatchObject([{ status: 'deployed' }])
  })
  afterAll(async () => {
    await stopMining?.()
    await backend?.close()
    await place?.remove()
    await network?.close()
  })

  async function ask(argv: string, answer?: string): Promise<string> {
    const { env, dir } = await home()
    await writeFile(join(dir, 'drop.csv'), `title,description,receiver\nOne,x,${OWNER}\nTwo,x,${OTHER}\n`)
    const flags = argv.replaceAll('DIR', dir).replaceAll('CONTRACT', contract).replaceAll('NFT', nft)
    return await questionOf(flags, { ...env, GDN_BASE_URL: backend.url, GDN_API_KEY: backend.apiKey.reveal() }, answer)
  }

  const PROMPTING: [string, string][] = [
    ['collection create', 'collection create --name No -b polygon --wallet OWNER --no-enable-transfer'],
    ['nft mint', 'nft mint -c CONTRACT -b polygon --receiver OWNER --title No'],
    ['nft transfer', 'nft transfer NFT --receiver OTHER -b polygon'],
    ['nft update', 'nft update NFT --title No -b polygon'],
    ['nft freeze', 'nft freeze NFT -b polygon'],
    ['nft burn', 'nft burn NFT -b polygon'],
    ['batch mint', 'batch mint DIR/drop.csv -c CONTRACT -b polygon'],
    ['apply', 'apply DIR/drop.csv -c CONTRACT -b polygon'],
    ['api', 'api createcollection --field name=No --field blockchain=polygon --field wallet_address=OWNER'],
  ]

  test.each(PROMPTING)(
    'names the most that it can cost: gdn %s',
    async (_name, argv) => {
      const filled = argv.replaceAll('OWNER', OWNER).replaceAll('OTHER', OTHER)
      expect(await ask(filled)).toMatch(/,foranestimatedmaximumof0\.0\d+POLatthecurrentfees\?\(y\/N\)/)
      if (/^(collection create|api) /.test(argv)) return
      const limited =
        /,foratmost0\.75POL\(thelimit(oftherun)?,anestimatedmaximumof0\.0\d+POLatthecurrentfees\)\?\(y\/N\)/
      expect(await ask(`${filled} --max-cost 0.75`)).toMatch(limited)
    },
    120_000,
  )

  test.each([
    ...PROMPTING,
    ['nft grant', 'nft grant -c CONTRACT -b polygon --receiver OWNER --sender OTHER --title No'],
  ])(
    'is canceled by Ctrl-D, with exit code 3 and a message: gdn %s',
    async (_name, argv) => {
      const filled = argv.replaceAll('OWNER', OWNER).replaceAll('OTHER', OTHER)
      expect(await ask(filled, CTRL_D)).toMatch(/error:thepromptwascanceledNothingwassent\.Runthesamecommandagain\.$/)
    },
    120_000,
  )

  test('names the current owner of the NFT that it transfers', async () => {
    const question = await ask(`nft transfer NFT --receiver ${OTHER} -b polygon`)
    expect(question).toContain(compact(`Transfer token 1 of ${contract.slice(0, 6)}…${contract.slice(-4)}`))
    expect(question).toContain(compact(`from ${SHORT_OWNER} to ${OTHER} on polygon`))
  })
})

describe('the fees of a prompt', () => {
  const argv = `nft mint --title Dawn --receiver ${OWNER} -c ${OTHER} -b polygon`

  test.each([
    ['does not have them', 404],
    ['fails', 500],
  ])('are left out if the server %s', async (_what, status) => {
    const { env } = await home()
    const api = await fakeApi({ '*': () => ({ status: 404, body: {} }), getfees: () => ({ status, body: {} }) })
    announce('base')
    const question = await questionOf(argv, { ...env, GDN_BASE_URL: api.url, GDN_API_KEY: KEY })
    expect(question).toContain(compact(`on polygon, a public network, through ${api.url}? (y/N)`))
  })

  test('are not requested with --yes, and not on an embedded chain', async () => {
    const { env } = await home()
    const refused = { status: 422, body: { error: { title: 'No', message: 'because' } } }
    const api = await fakeApi({ '*': () => ({ status: 404, body: {} }), createnft: () => refused })
    const run = (flags: string) =>
      atTerminal(`${argv} ${flags}`, { ...env, GDN_BASE_URL: api.url, GDN_API_KEY: KEY }).end()
    announce('base')
    expect((await run('--yes')).screen).toContain('because')
    announce('polygon')
    expect((await run('--again')).screen).toContain('because')
    expect(api.calls.filter(({ path }) => path.endsWith('/getfees'))).toEqual([])
  })
})

test('nft freeze sends nothing if the metadata changed while the prompt was open', async () => {
  let title = 'Dawn'
  const { url, bodies } = await fakeApi({
    getnfts: (requests) => ({
      body: { requests, nfts: [nft('id-0', { blockchain: 'polygon', request_metadata: { title } })] },
    }),
    '*': () => ({ body: {} }),
  })
  const { env } = await home()
  const terminal = atTerminal(`nft freeze id-0 --base-url ${url}`, { ...env, GDN_API_KEY: KEY })
  await terminal.showsNow(/y\s*\/\s*N/i)
  title = 'Theirs'
  terminal.type('y\r')
  const { code, screen } = await terminal.end()
  expect(compact(screen)).toContain(compact('id-0: title changed from Dawn to Theirs after it was shown'))
  expect(code).toBe(5)
  expect(bodies('freezenft')).toEqual([])
})
