import { copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { beforeEach, describe, expect, test } from 'vitest'
import { findWrongImports, MAY_IMPORT, SERVER_LAYERS } from '../../src/build/import-directions.mjs'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

let folder: string
beforeEach(async () => {
  folder = await temporaryFolder('gdn-directions-')
})

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true })
  await writeFile(join(folder, path), text)
}

describe('the tables of import directions', () => {
  test('name every folder of src and src/server, and no others', async () => {
    const folders = async (path: string) => (await readdir(join(root, path))).sort()
    expect(Object.keys(MAY_IMPORT).sort()).toEqual(await folders('src'))
    expect(SERVER_LAYERS.flat().sort()).toEqual(await folders('src/server'))
  })

  test('let a folder import only folders listed before it', () => {
    const names = Object.keys(MAY_IMPORT)
    for (const [name, allowed] of Object.entries(MAY_IMPORT)) {
      for (const target of allowed) expect(names.indexOf(target.split('/')[0] ?? '')).toBeLessThan(names.indexOf(name))
    }
  })

  test('allow every import in src', async () => {
    expect(await findWrongImports(join(root, 'src'))).toEqual([])
  })
})

describe('findWrongImports', () => {
  /** The problems found for one file with one import. */
  async function found(from: string, text: string, to: string): Promise<string[]> {
    await write(`src/${to}`, 'export const target = 1\n')
    await write(`src/${from}`, text)
    return await findWrongImports(join(folder, 'src'))
  }

  test.each([
    ['an import', "import { target } from '../api/a.ts'\n"],
    ['an export', "export * from '../api/a.ts'\n"],
    ['an import of a type', "import type { target } from '../api/a.ts'\n"],
    ['the type of an import', "export type Target = import('../api/a.ts').target\n"],
    ['a lazy import', "export const load = () => import('../api/a.ts')\n"],
  ])('rejects %s against the direction', async (_, text) => {
    expect(await found('core/c.ts', text, 'api/a.ts')).toEqual([
      'src/core/c.ts imports src/api/a.ts: core may import no other folder',
    ])
  })

  test('rejects an import between folders of src/server in the same layer, or from a higher one', async () => {
    const text = (path: string) => `import '../${path}'\n`
    expect(await found('server/storage/s.ts', text('pipeline/loop.ts'), 'server/pipeline/loop.ts')).toEqual([
      'src/server/storage/s.ts imports src/server/pipeline/loop.ts: server/pipeline is not in a layer below server/storage',
    ])
    await rm(join(folder, 'src'), { recursive: true })
    expect(await found('server/storage/s.ts', text('state/nfts.ts'), 'server/state/nfts.ts')).toHaveLength(1)
    await rm(join(folder, 'src'), { recursive: true })
    expect(await found('server/storage/s.ts', text('store/nfts.ts'), 'server/store/nfts.ts')).toEqual([])
  })

  test.each([
    ['src/server', 'server/chain/evm/a.ts', 'server/chain/signers.ts', 'server/chain/evm/b.ts'],
    ['src/cli', 'cli/io/io.ts', 'cli/render/table.ts', 'cli/io/paint.ts'],
    ['src/explorer', 'explorer/parts/latest.tsx', 'explorer/gallery/tile.tsx', 'explorer/parts/icon.tsx'],
  ])('rejects a cycle of folders in %s even if no files form one', async (_, first, second, third) => {
    await write(`src/${first}`, `import './${relative(dirname(first), second)}'\n`)
    await write(`src/${second}`, `import './${relative(dirname(second), third)}'\n`)
    await write(`src/${third}`, '')
    const wrong = await findWrongImports(join(folder, 'src'))
    expect(wrong.map((sentence) => sentence.split(': ')[0]).sort()).toEqual(
      [`src/${first} imports src/${second}`, `src/${second} imports src/${third}`].sort(),
    )
    expect(wrong[0]).toMatch(/: src\/\S+ leads back to src\/\S+$/)
  })

  test('lets only some commands load the server, and the web explorer import only its types', async () => {
    const text = "import '../../server/explorer/types.ts'\n"
    expect(await found('cli/commands/serve.ts', text, 'server/explorer/types.ts')).toEqual([])
    expect(await found('explorer/pages/home.tsx', text, 'server/explorer/types.ts')).toEqual([])
    expect(await found('cli/commands/nft.ts', text, 'server/explorer/types.ts')).toHaveLength(1)
  })

  test.each([
    ['server/pipeline/mint-step.ts', 'server/pipeline/evm/judge.ts'],
    ['server/pipeline/webhooks/post.ts', 'server/chain/solana/key.ts'],
    ['server/services/get-fees.ts', 'server/chain/evm/signers.ts'],
    ['server/services/get-nfts.ts', 'server/pipeline/solana/observe.ts'],
    ['server/http/app.ts', 'server/chain/evm/network.ts'],
  ])('rejects that %s imports %s, which is of one kind of blockchain', async (from, to) => {
    const text = `import '${'../'.repeat(from.split('/').length - 1)}${to}'\n`
    expect(await found(from, text, to)).toEqual([
      `src/${from} imports src/${to}: only server/pipeline/load-driver.ts, server/pipeline/chain-facts.ts, server/http/rpc.ts may import modules of one kind of blockchain`,
    ])
    await rm(join(folder, 'src'), { recursive: true })
    expect(await found('server/pipeline/chain-facts.ts', `import '../../${to}'\n`, to)).toEqual([])
  })

  test.each([
    ['a statement', "export const n = (sql) => sql.get('SELECT 1')\n"],
    ['a statement that is named elsewhere', 'export const n = (sql) => sql\n  .all<Row>(ROWS)\n'],
    ['a method that is passed on', 'export const run = (sql) => [].forEach(sql.run)\n'],
    ['the text of a statement', 'export const ROWS = `\n  SELECT * FROM rows`\n'],
  ])('rejects %s on the client database outside of src/state', async (_, text) => {
    const paths = ['batch/rows.ts', 'cli/commands/rows.ts', 'client/pace/pace.ts', 'plan/rows.ts']
    for (const path of [...paths, 'client/pace/shared-pace.ts', 'server/store/rows.ts', 'state/rows.ts']) {
      await write(`src/${path}`, text)
    }
    expect(await findWrongImports(join(folder, 'src'))).toEqual(
      paths.map((path) => `src/${path} has SQL: only src/state runs statements on the client database`),
    )
  })

  test('allows a name that contains that of a statement, and prose with its words', async () => {
    await write(
      'src/batch/rows.ts',
      "// UPDATE the rows\nexport const word = 'DELETE'\nexport const mysql = { all() {} }.all()\n",
    )
    expect(await findWrongImports(join(folder, 'src'))).toEqual([])
  })

  test('rejects a lazy import of a module that its importer loads anyway', async () => {
    await write(
      'src/core/a.ts',
      "import { b } from './b.ts'\nexport const c = async () => [b, await import('./c.ts')]\n",
    )
    await write('src/core/b.ts', "export { c as b } from './c.ts'\n")
    await write('src/core/c.ts', 'export const c = 1\n')
    expect(await findWrongImports(join(folder, 'src'))).toEqual([
      'src/core/a.ts imports src/core/c.ts lazily, but a static import also loads it',
    ])
    await write('src/core/b.ts', "import type { c } from './c.ts'\nexport const b: typeof c = 1\n")
    expect(await findWrongImports(join(folder, 'src'))).toEqual([])
  })

  test('rejects a folder that the tables do not name', async () => {
    await write('src/elsewhere/a.ts', '')
    await write('src/server/attic/b.ts', '')
    expect(await findWrongImports(join(folder, 'src'))).toEqual([
      'src/elsewhere is not in a table of src/build/import-directions.mjs',
      'src/server/attic is not in a table of src/build/import-directions.mjs',
    ])
  })
})

describe('the lint rules', { tags: ['slow'] }, () => {
  interface Report {
    diagnostics: { category: string; severity: string; location: { path: string | { file: string } } }[]
  }

  /** The errors of Biome: `<rule> <path>`. */
  async function lint(): Promise<string[]> {
    for (const name of ['biome.json', '.gitignore']) await copyFile(join(root, name), join(folder, name))
    const biome = join(root, 'src/build/tools/node_modules/@biomejs/biome/bin/biome')
    const args = ['lint', '--reporter=json', '--max-diagnostics=none', 'src']
    const { stdout } = await execa(process.execPath, [biome, ...args], { cwd: folder, reject: false })
    return (JSON.parse(stdout) as Report).diagnostics
      .filter(({ severity }) => severity === 'error')
      .map(({ category, location: { path } }) => {
        return `${category.split('/').at(-1)} ${typeof path === 'string' ? path : path.file}`
      })
      .sort()
  }

  test('let only the command line read the environment, and restrict access to the process', async () => {
    for (const place of ['core', 'server/services', 'server/chain/evm', 'cli']) {
      await write(`src/${place}/pid.ts`, 'export const pid = process.pid\n')
      await write(`src/${place}/env.ts`, 'export const home = process.env.HOME\n')
    }
    expect((await lint()).filter((line) => !line.includes('noRestrictedGlobals') || line.endsWith('pid.ts'))).toEqual([
      'noProcessEnv src/core/env.ts',
      'noProcessEnv src/server/chain/evm/env.ts',
      'noProcessEnv src/server/services/env.ts',
      'noRestrictedGlobals src/core/pid.ts',
      'noRestrictedGlobals src/server/services/pid.ts',
    ])
  })

  test('reject an import cycle, including types', async () => {
    await write('src/core/first.ts', "import { second } from './second.ts'\n\nexport const first = () => second\n")
    await write('src/core/second.ts', "import { first } from './first.ts'\n\nexport const second = () => first\n")
    await write('src/core/a.ts', "import type { B } from './b.ts'\n\nexport type A = B | 1\n")
    await write('src/core/b.ts', "import type { A } from './a.ts'\n\nexport type B = A | 2\n")
    expect(await lint()).toEqual(['a', 'b', 'first', 'second'].map((name) => `noImportCycles src/core/${name}.ts`))
  })
})
