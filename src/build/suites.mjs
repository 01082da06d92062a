// Assigns test files to suites. `npm test` runs every file that isn't listed here, except tests with the tag `slow`,
// which `npm run test:rest` runs. test/build/suites.test.ts checks the lists.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './paths.mjs'

/** Files that `npm run test:rest` runs for each commit: tests of kills, crashes, restored backups, and the package. */
export const LONG = [
  'test/batch/{crash,race}.test.ts',
  'test/operations/crash.test.ts',
  'test/server/pipeline/{lost-commits,reorgs,restored-database}.test.ts',
  'test/e2e/{github-action,kill-backend,kill-batch,max-cost,pack}.test.ts',
]

/**
 * Files that `npm run test:rest` runs on PostgreSQL for each commit. All except those of the first line also run on
 * SQLite.
 */
export const POSTGRES = [
  'test/server/postgres/**/*.test.ts',
  'test/server/database/*.test.ts',
  'test/server/store/{leases,plans,runs-of-lost,transfers}.test.ts',
  'test/server/http/{held-reads,idempotency,max-cost-of-changes,max-supply,reference-aliases,reference-labels,references}.test.ts',
  'test/server/pipeline/{max-cost-property,max-supply,reordered-transfers}.test.ts',
  'test/batch/supply-kill.test.ts',
  'test/archive/restore-publishing.test.ts',
  'test/cli/mcp/max-cost-property.test.ts',
  'test/server/transfers/{owner-block,receiver-names}.test.ts',
  'test/server/updates/{burnnft,commitprovenance,nft-history,reorg,seal,solana,updatednft}.test.ts',
]

/**
 * Parts of `npm run soak`: tests that take minutes, have a long form (`GDN_SOAK=1`), or need programs that few machines
 * have. `npm run test:all` runs the short forms.
 */
export const PARTS = {
  crash: [
    'test/batch/{kill,lookup-kill,random-faults}.test.ts',
    'test/operations/random-faults.test.ts',
    'test/server/{solana-kill,storage/killed,updates/kill,webhooks/kill}.test.ts',
    'test/server/data-dir/disk-full.test.ts',
    'test/e2e/{start-with-silent-storage,start-without-database,stop-without-answers}.test.ts',
  ],
  'power-cuts': ['test/{batch,e2e,state}/power-cut.test.ts'],
  races: [
    'test/batch/race-backend.test.ts',
    'test/{client/pace,lib,operations}/processes.test.ts',
    'test/cli/stopped-process.test.ts',
    'test/e2e/{batch-references,cluster-chaos,local-port,machines}.test.ts',
  ],
  chaos: [
    'test/server/pipeline/{busy-collection,chaos,ipfs-files,restored-cluster,shared-network,shared-owners,solana-faults}.test.ts',
    'test/server/chain/evm/embedded/replay-property.test.ts',
    'test/plan/restored-burns.test.ts',
    'test/e2e/{apply-chaos,cluster,external-network,ipfs-gateway,network}.test.ts',
  ],
  fuzz: ['test/server/http/mutated-requests.test.ts', 'test/server/pipeline/hostile-files.test.ts'],
  secrets: ['test/e2e/{canary,process-secrets}.test.ts'],
  browsers: [
    'test/explorer/{gallery,live,login,pages,search}.test.ts',
    'test/cli/sheets-in-browser.test.ts',
    'test/server/http/{browser,hostile-pages,playground}.test.ts',
    'test/e2e/app.test.ts',
  ],
  shells: ['test/completion/static.test.ts', 'test/e2e/completion.test.ts'],
  packages: [
    'test/deploy/container.test.ts',
    'test/docs/{how-to-add,site-in-browser}.test.ts',
    'test/e2e/{executable,try}.test.ts',
  ],
  memory: [
    'test/server/http/wallet-memory.test.ts',
    'test/server/chain/evm/embedded/figures.test.ts',
    'test/e2e/{batch-machine,plan-memory}.test.ts',
  ],
}

/** More files for the parts of `npm run soak`. Other suites run their short forms, or they have no short form. */
export const LONG_FORMS = {
  crash: [
    'test/{archive,art}/kill.test.ts',
    'test/batch/{claim,crash,list-kill,manifest-lives,state}.test.ts',
    'test/operations/crash.test.ts',
    'test/soak/kill-{backend,batch}.soak.test.ts',
  ],
  races: ['test/batch/race.test.ts', 'test/client/pace/shared-pace.test.ts'],
  chaos: [
    'test/soak/{chaos,ipfs-node,moving}.soak.test.ts',
    'test/plan/label-orders.test.ts',
    'test/cli/ens/mint-once-property.test.ts',
    'test/reveal/{hidden-elsewhere-property,mint-once-property,shuffle-kills,shuffle-property}.test.ts',
    'test/e2e/reveal.test.ts',
    'test/server/chain/evm/contracts/{model,rights-model}.test.ts',
    'test/server/webhooks/many.test.ts',
    'test/server/updates/random-reorgs.test.ts',
    'test/server/pipeline/{max-cost-property,max-supply}.test.ts',
    'test/cli/mcp/max-cost-property.test.ts',
    'test/cli/cost/{at-most,operation-limit,run-limit,sufficient-limit}-property.test.ts',
    'test/plan/{exchanged,exchanged-ids,pairing-random,results-random}.test.ts',
  ],
  fuzz: [
    'test/archive/intact.test.ts',
    'test/art/{edition,large-edition}-property.test.ts',
    'test/{keystore,manifest}/fuzz.test.ts',
    'test/core/strict-json.test.ts',
    'test/batch/{rows,rows-kept}.test.ts',
    'test/manifest/{csv,escaped-cells,suggest-columns}.test.ts',
    'test/schema/schemas.test.ts',
    'test/wallet/{read-key,signed-url}.test.ts',
    'test/files/{bombs,inspect,url-fuzz}.test.ts',
    'test/server/http/{bytes-fuzz,wallet,wallet-fuzz}.test.ts',
    'test/cli/image/decode.test.ts',
    'test/cli/mcp/tools.test.ts',
  ],
  secrets: ['test/files/canary.test.ts'],
  packages: ['test/e2e/docs.test.ts'],
  memory: ['test/server/explorer/{counts,hostile}.test.ts'],
}

/**
 * Files that `npm run soak -- postgres` runs on PostgreSQL in their long forms. Like all tests, they also run on
 * SQLite.
 */
export const MORE_POSTGRES = [
  'test/server/store/due-times.test.ts',
  'test/server/http/rate-limits.test.ts',
  'test/server/pipeline/{busy-collection,follow-owners,lost-commits,lost-tokens,max-cost-property,minting,mints-in-flight,optimize-step,remote-signer,reordered-mints,reorgs,requested-actions,restored-cluster,restored-database,shared-network,solana-changes,watch-settled}.test.ts',
  'test/cli/mcp/max-cost-property.test.ts',
  'test/server/transfers/transfernft.test.ts',
  'test/server/webhooks/{delivery,events,outbox,update}.test.ts',
  'test/server/storage/settings.test.ts',
  'test/server/explorer/*.test.ts',
]

export const TAGS = [
  { name: 'slow', description: 'Takes so long that `npm test` leaves it to `npm run test:rest`' },
  { name: 'promise', description: 'Proves a main promise of gdn: `npm test` runs it, however slow its file is' },
  { name: 'needed', description: 'Later tests of its file need it, so `npm run test:rest` repeats it' },
]

/** The tags of the tests that `npm test` runs. */
export const CORE = '!slow || promise'

/** The tags of the tests in slow files that `npm run test:rest` runs. */
export const REST = '!promise || needed'

const filesOfPart = (part) => [...(PARTS[part] ?? []), ...(LONG_FORMS[part] ?? [])]
const SHORT_FORMS = Object.values(PARTS).flat()

/**
 * Returns the files of parts of `npm run soak`. Without parts, returns the files whose short forms no other suite runs.
 */
export const soakFiles = (parts) => parts?.split(',').flatMap(filesOfPart) ?? SHORT_FORMS

/** Files that other Vitest projects run. */
const ELSEWHERE = ['test/soak/**', 'test/server/postgres/**', 'test/postgres-missing.test.ts', ...LONG, ...SHORT_FORMS]

const SLOW = /^\/\*\* @module-tag slow \*\/$/m
const PROMISE = /tags: \['promise'/
/** Matches files that mock modules. In a shared process, the mocks would also affect the next file. */
const MOCKS = /\bvi\.(?:doMock|mock)\(/

/**
 * Returns the test files of `npm test` (`core`), or of `npm run test:rest` (`rest`): those that can share a process
 * with others, and those that need their own process. Without a suite, returns the files of both suites.
 */
export function filesOf(suite) {
  const shared = []
  const isolated = []
  for (const path of readdirSync(join(root, 'test'), { recursive: true })) {
    if (!path.endsWith('.test.ts')) continue
    const text = readFileSync(join(root, 'test', path), 'utf8')
    const isWanted = suite === 'core' ? !SLOW.test(text) || PROMISE.test(text) : suite !== 'rest' || SLOW.test(text)
    if (isWanted) (MOCKS.test(text) ? isolated : shared).push(`test/${path}`)
  }
  return { shared, isolated, exclude: ELSEWHERE }
}
