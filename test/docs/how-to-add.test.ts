import { cp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { beforeAll, describe, expect, test } from 'vitest'
import { whenFileDone } from '../helpers/clean-up.ts'
import { findPostgres } from '../helpers/postgres-server.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

const PLANS = 'test/server/store/plans.test.ts'

/** A copy of the sources to which something is added. */
let scratch: string

beforeAll(async () => {
  scratch = await temporaryFolder('gdn-how-to-add-', whenFileDone)
  const left = new Set(['.git', 'node_modules', 'dist'])
  const filter = (path: string) => !left.has(basename(path))
  for (const entry of await readdir(root)) {
    await cp(join(root, entry), join(scratch, entry), { recursive: true, filter })
  }
  await symlink(join(root, 'node_modules'), join(scratch, 'node_modules'))
})

const write = (path: string, text: string) => writeFile(join(scratch, path), text)

/** Adds a line after the one with this text. */
async function addLine(path: string, after: string, line: string): Promise<void> {
  const text = await readFile(join(scratch, path), 'utf8')
  const end = text.indexOf('\n', text.indexOf(after))
  expect(text).toContain(after)
  await write(path, `${text.slice(0, end + 1)}${line}\n${text.slice(end + 1)}`)
}

const node = (...args: string[]) => execa(process.execPath, args, { cwd: scratch, reject: false, all: true })

async function expectDone(...args: string[]): Promise<void> {
  const { exitCode, all } = await node(...args)
  expect(exitCode, all).toBe(0)
}

/** Generates the types of the client, as the build does, and checks all types. */
async function expectTypes(): Promise<void> {
  await expectDone('--eval', "import('./src/build/client-types.mjs').then((types) => types.generateClientTypes())")
  const types = await node('node_modules/typescript/bin/tsc', '-p', '.', '--noEmit')
  expect(types.all).toBe('')
}

interface Report {
  testResults: { name: string; assertionResults: { status: string }[] }[]
}

/** Runs test files in a project of vitest. Each must have a test that passes: a run of no tests succeeds as well. */
async function expectPassed(project: string, files: readonly string[], ...flags: string[]): Promise<void> {
  const report = join(scratch, 'report.json')
  await rm(report, { force: true })
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  await expectDone('node_modules/vitest/vitest.mjs', 'run', '--project', project, ...reporters, ...files, ...flags)
  const { testResults }: Report = JSON.parse(await readFile(report, 'utf8'))
  const ran = testResults
    .filter(({ assertionResults }) => assertionResults.some(({ status }) => status === 'passed'))
    .map(({ name }) => relative(scratch, name))
  expect(ran.sort()).toEqual([...files].sort())
}

describe('an endpoint with a query and an index', { timeout: 900_000 }, () => {
  test('touches only the files that the document names', async () => {
    await write(
      'src/api/endpoints/findnft.ts',
      `import * as z from 'zod'
import { checkAddresses } from '../check-addresses.ts'
import { defineEndpoint } from '../endpoint.ts'
import { addressSchema, blockchainSchema } from '../fields.ts'

export const findnft = defineEndpoint({
  name: 'findnft',
  summary: 'Find the first NFT of a collection with a metadata URL',
  origin: 'extension',
  permissions: ['nft:read'],
  request: z
    .strictObject({ contract_address: addressSchema, blockchain: blockchainSchema, metadata_url: z.string() })
    .check(checkAddresses('contract_address')),
  response: z.looseObject({ nft_gdn_id: z.string().nullable() }),
  example: {
    request: {
      contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
      blockchain: 'polygon',
      metadata_url: 'ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi/0.json',
    },
    response: { nft_gdn_id: '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d' },
  },
})
`,
    )
    await addLine(
      'src/api/endpoints.ts',
      'const CONTRACT_LOADERS = {',
      "  findnft: async () => (await import('./endpoints/findnft.ts')).findnft,",
    )
    await write(
      'src/server/store/metadata-urls.ts',
      `import type { Db } from './schema.ts'

export async function findNftByMetadata(db: Db, collectionId: string, metadataUrl: string): Promise<string | null> {
  const found = db.selectFrom('nfts').where('collection_id', '=', collectionId).where('metadata_url', '=', metadataUrl)
  const row = await found.select('id').orderBy('seq').limit(1).executeTakeFirst()
  return row?.id ?? null
}
`,
    )
    await write(
      'src/server/services/find-nft.ts',
      `import { findNftByMetadata } from '../store/metadata-urls.ts'
import { findOwnCollection } from './find-own-collection.ts'
import type { RequestOf, ServiceDeps } from './services.ts'

export async function findNft({ store }: Pick<ServiceDeps, 'store'>, { accountId, parsed }: RequestOf<'findnft'>) {
  const { contract_address: contractAddress, blockchain, metadata_url: metadataUrl } = parsed
  const collection = await findOwnCollection(store.db, accountId, { contractAddress, blockchain })
  return { nft_gdn_id: await findNftByMetadata(store.db, collection.id, metadataUrl) }
}
`,
    )
    await addLine(
      'src/server/http/api-routes.ts',
      'const SERVICES',
      "  findnft: async () => (await import('../services/find-nft.ts')).findNft,",
    )
    await addLine(
      'src/server/store/migrations/0001-initial/collections.ts',
      'const nfts = (name: string)',
      `  const hasMetadata = sql<boolean>\`metadata_url is not null\`
  await nfts('metadata').columns(['collection_id', 'metadata_url']).where(hasMetadata).execute()`,
    )
    await renameInitialMigration()
    await addLine(
      'test/helpers/use-everything.ts',
      'const [first] = await settled(',
      "  await call(backend, 'findnft', { contract_address, blockchain, metadata_url: first?.metadata_url })",
    )
    await addLine(
      'test/server/http/permissions.test.ts',
      'const REQUIRED',
      "  findnft: { permissions: ['nft:read'], form: 'A' },",
    )
    await addLine(
      'test/server/http/tenancy.test.ts',
      'const REQUESTS',
      `  findnft: ({ contract }) => ({
    contract_address: contract, blockchain: 'polygon', metadata_url: 'ipfs://any',
  }),`,
    )
    await addLine(
      'test/server/http/openapi.test.ts',
      'const real:',
      '      findnft: { contract_address: collection.address },',
    )
    await expectTypes()
    const cases = ['permissions', 'tenancy', 'openapi'].map((name) => `test/server/http/${name}.test.ts`)
    const types = ['test/api/contract.test.ts', 'test/lib/api-types.test.ts']
    await expectPassed('core', [...types, ...cases, 'test/server/store/initial-migration.test.ts'])
    await expectPassed('isolated', [PLANS])
  })

  test.skipIf(findPostgres() === null)('has its query planned on PostgreSQL as well', async () => {
    await expectPassed('postgres', [PLANS])
  })
})

/** Gives the initial migration the name that its test prints. */
async function renameInitialMigration(): Promise<void> {
  const test = 'test/server/store/initial-migration.test.ts'
  const { all = '' } = await node('node_modules/vitest/vitest.mjs', 'run', '--project', 'core', test)
  const [, before = '', after = ''] = /expected '(0001-initial-\w+)' to be '(0001-initial-\w+)'/.exec(all) ?? []
  expect(after, all).not.toBe('')
  const index = 'src/server/store/migrations/index.ts'
  const text = await readFile(join(scratch, index), 'utf8')
  expect(text).toContain(before)
  await write(index, text.replace(before, after))
}

test('a command touches only the files that the document names', async () => {
  await write(
    'src/cli/commands/wallet/count.ts',
    `import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput } from '../../render/output.ts'

export function command(deps: Deps, run = count): GdnCommand {
  return new GdnCommand({
    about: 'Reads no key.',
    examples: [['The number of wallets', 'gdn wallet count']],
  })
    .with(addOutputFlags)
    .action(async (flags: OutputFlags) => await run(deps, flags))
}

export async function count(deps: Deps, flags: OutputFlags): Promise<void> {
  const output = createOutput(deps.io, flags, { fields: ['count', 'readable'], columns: ['count'], id: 'count' })
  const book = await deps.addresses()
  await output.one({ count: book.list().length, readable: book.problem === null })
}
`,
  )
  await addLine(
    'src/cli/catalogue.ts',
    "() => import('./commands/wallet/list.ts')",
    "  read('count', 'Count the wallets', () => import('./commands/wallet/count.ts')),",
  )
  await addLine(
    'test/cli/contract/scenarios.ts',
    "'wallet url': one(",
    "  'wallet count': one(['count', 'readable'], () => withWallets(() => ['wallet', 'count'])),",
  )
  await expectDone('src/build/completions.mjs')
  await expectDone('src/build/reference.mjs')
  await expectTypes()
  await expectPassed('core', ['test/cli/catalogue.test.ts'])
  await expectPassed('isolated', ['test/cli/contract/output-contract.test.ts'], '-t', 'wallet count')
}, 900_000)
