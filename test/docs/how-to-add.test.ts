import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** A copy of the sources to which something is added. */
let scratch: string

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'gdn-how-to-add-'))
  const left = new Set(['.git', 'node_modules', 'dist'])
  for (const entry of await readdir(root)) {
    if (!left.has(entry)) await cp(join(root, entry), join(scratch, entry), { recursive: true })
  }
  await symlink(join(root, 'node_modules'), join(scratch, 'node_modules'))
})
afterAll(() => rm(scratch, { recursive: true, force: true }))

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

async function expectGreen(...tests: string[]): Promise<void> {
  await expectDone('--eval', "import('./src/build/client-types.mjs').then((types) => types.generateClientTypes())")
  const types = await node('node_modules/typescript/bin/tsc', '-p', '.', '--noEmit')
  expect(types.all).toBe('')
  await expectDone('node_modules/vitest/vitest.mjs', 'run', '--project', 'unit', ...tests)
}

test('adding an endpoint touches only the files that the document names', async () => {
  await write(
    'src/api/endpoints/countnfts.ts',
    `import * as z from 'zod'
import { checkAddresses } from '../check-addresses.ts'
import { defineEndpoint } from '../endpoint.ts'
import { address, blockchain } from '../fields.ts'

export const countnfts = defineEndpoint({
  name: 'countnfts',
  summary: 'Count the NFTs of a collection',
  origin: 'extension',
  permissions: ['nft:read'],
  request: z.strictObject({ contract_address: address, blockchain }).check(checkAddresses('contract_address')),
  response: z.looseObject({ count: z.number() }),
  example: {
    request: { contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', blockchain: 'polygon' },
    response: { count: 1 },
  },
})
`,
  )
  await addLine(
    'src/api/endpoints.ts',
    'const CONTRACTS = {',
    "  countnfts: async () => (await import('./endpoints/countnfts.ts')).countnfts,",
  )
  await write(
    'src/server/services/count-nfts.ts',
    `import type * as z from 'zod'
import type { countnfts } from '../../api/endpoints/countnfts.ts'
import { listNftIds } from '../store/nfts.ts'
import { findOwnCollection } from './find-collection.ts'
import type { ServiceDeps, ServiceRequest } from './services.ts'

export async function countNfts(
  { store }: Pick<ServiceDeps, 'store'>,
  { accountId, parsed }: ServiceRequest<z.output<typeof countnfts.request>>,
) {
  const { contract_address: contractAddress, blockchain } = parsed
  const collection = await findOwnCollection(store.db, accountId, { contractAddress, blockchain })
  return { count: (await listNftIds(store.db, collection.id)).length }
}
`,
  )
  await addLine(
    'src/server/http/api-routes.ts',
    'const SERVICES',
    "  countnfts: async () => (await import('../services/count-nfts.ts')).countNfts,",
  )
  await addLine(
    'test/server/http/permissions.test.ts',
    'const REQUIRED',
    "  countnfts: { permissions: ['nft:read'], form: 'A' },",
  )
  await addLine(
    'test/server/http/tenancy.test.ts',
    'const REQUESTS',
    "  countnfts: ({ contract }) => ({ contract_address: contract, blockchain: 'polygon' }),",
  )
  await addLine(
    'test/server/http/openapi.test.ts',
    'const real:',
    '      countnfts: { contract_address: collection.address },',
  )
  const cases = ['permissions', 'tenancy', 'openapi'].map((name) => `test/server/http/${name}.test.ts`)
  await expectGreen('test/api', 'test/lib/api-types.test.ts', ...cases)
}, 300_000)

test('adding a command touches only the files that the document names', async () => {
  await write(
    'src/cli/commands/wallet/count.ts',
    `import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput } from '../../render/output.ts'

export function command(deps: Deps, run = count): GdnCommand {
  const countCommand = new GdnCommand({
    about: 'Reads no key.',
    examples: [['The number of wallets', 'gdn wallet count']],
  })
  addOutputFlags(countCommand)
  return countCommand.action(async (flags: OutputFlags) => await run(deps, flags)) as GdnCommand
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
    "'wallet url': { shape",
    "  'wallet count': { shape: 'object', json: 'count readable', prepare: () => onWallets('wallet', 'count') },",
  )
  await expectDone('src/build/completions.mjs')
  await expectDone('src/build/reference.mjs')
  await expectGreen('test/cli/catalogue.test.ts', 'test/cli/contract', '-t', 'wallet count')
}, 300_000)
