/** @module-tag slow */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import Papa from 'papaparse'
import { expect, onTestFinished, test } from 'vitest'
import { folder } from '../cli/batch/drop.ts'
import { cli } from '../cli/harness.ts'
import { createTestCollection, freshDataDir, startTestBackend, WALLETS } from '../helpers/backend.ts'
import { rawCidOf } from '../helpers/published-cid.ts'
import { nftsOf } from '../helpers/shuffled-machine.ts'
import { layerImage } from './generated.ts'

/** The layers of HashLips' example, and its weights. */
const LAYERS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  Background: { Black: 1 },
  'Bottom lid': { High: 20, Low: 40, Middle: 40 },
  'Eye color': { Cyan: 1, Green: 1, Pink: 1, Purple: 1, Red: 1, Yellow: 10 },
  Eyeball: { Red: 50, White: 50 },
  Iris: { Large: 20, Medium: 20, Small: 60 },
  Shine: { Shapes: 100 },
  'Top lid': { High: 30, Low: 20, Middle: 50 },
}
const COMBINATIONS = 3 * 6 * 2 * 3 * 3

async function artist() {
  const { path, options } = await folder({})
  return { path, options, gdn: (...argv: string[]) => cli(argv, { ...options, cwd: path('.') }) }
}

test('the layers of HashLips become an edition with their weights, without an edit', async () => {
  const { path, gdn } = await artist()
  for (const [at, [layer, traits]] of Object.entries(LAYERS).entries()) {
    await mkdir(path(`layers/${layer}`), { recursive: true })
    for (const [trait, [name, weight]] of Object.entries(traits).entries())
      await writeFile(path(`layers/${layer}/${name}#${weight}.png`), await layerImage(at, trait))
  }
  const init = await gdn('art', 'init', 'layers')
  expect(init.code, init.stderr).toBe(0)
  await writeFile(path('art.yaml'), init.stdout)
  const check = await gdn('art', 'check', 'art.yaml', '--count', String(COMBINATIONS), '--json')
  expect(JSON.parse(check.stdout)).toMatchObject({ verdict: 'possible', combinations: String(COMBINATIONS) })
  const generate = await gdn(
    'art',
    'generate',
    'art.yaml',
    '--count',
    '30',
    '--seed',
    'lids',
    '--out',
    'drop',
    '--threads',
    '1',
  )
  expect(generate).toMatchObject({ code: 0 })
  const { data } = Papa.parse<Record<string, string>>(await readFile(path('drop/manifest.csv'), 'utf8'), {
    header: true,
    skipEmptyLines: true,
  })
  expect(data).toHaveLength(30)
  const yellow = data.filter((row) => row['attr:Eye color'] === 'Yellow')
  // 10 of 15 of the weights.
  expect(yellow).toHaveLength(20)
  expect(data.filter((row) => row['attr:Iris'] === 'Small')).toHaveLength(18)
})

test('the build of HashLips becomes a manifest that mints, with its images and traits', async () => {
  const data = await freshDataDir()
  const backend = await startTestBackend(data.path)
  onTestFinished(async () => {
    await backend.close()
    await data.remove()
  })
  const { path, options } = await artist()
  const all = []
  await mkdir(path('build/json'), { recursive: true })
  await mkdir(path('build/images'))
  for (const edition of [1, 2, 3]) {
    const metadata = {
      name: `Your Collection #${edition}`,
      description: 'Remember to replace this description',
      image: `ipfs://NewUriToReplace/${edition}.png`,
      dna: `dna${edition}`,
      edition,
      date: 1_632_219_001_470,
      attributes: [{ trait_type: 'Eye color', value: `Color ${edition}` }],
      compiler: 'HashLips Art Engine',
    }
    all.push(metadata)
    await writeFile(path(`build/json/${edition}.json`), JSON.stringify(metadata, null, 2))
    await writeFile(path(`build/images/${edition}.png`), await layerImage(0, edition))
  }
  await writeFile(path('build/json/_metadata.json'), JSON.stringify(all, null, 2))
  const collection = await createTestCollection(backend)
  const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal() }
  const gdn = (...argv: string[]) => cli(argv, { ...options, env, cwd: path('.') })
  const imported = await gdn('art', 'import', 'build')
  expect(imported.code, imported.stderr).toBe(0)
  const target = ['-c', collection.address, '-b', collection.blockchain, '--base-url', backend.url]
  const minted = await gdn('batch', 'mint', path('manifest.csv'), '--receiver', WALLETS[1], ...target, '--json')
  expect(minted.code, minted.stderr).toBe(0)
  const nfts = await nftsOf(backend, collection)
  const shown = nfts.map(({ request_metadata }) => request_metadata)
  const expected = [1, 2, 3].map(async (edition) => ({
    title: `Your Collection #${edition}`,
    description: 'Remember to replace this description',
    attribute: [{ tag: 'Eye color', value: `Color ${edition}` }],
    file_fields: [{ key: 'image', url: `ipfs://${rawCidOf(await layerImage(0, edition))}` }],
  }))
  expect(shown.sort((a, b) => (a.title < b.title ? -1 : 1))).toEqual(await Promise.all(expected))
})
