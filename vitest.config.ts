import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { defineSheetScript } from './src/build/sheet-script.mjs'
import { findPostgres } from './test/helpers/postgres-server.ts'
import { SummaryReporter } from './test/helpers/summary-reporter.ts'

/** The long form of a test takes minutes to hours. */
const isSoak = process.env.GDN_SOAK === '1'

const soak = { name: 'soak', include: ['test/soak/**/*.test.ts'], testTimeout: 600_000 }

/** Tests that use the database in specific ways. They run on SQLite like all tests, and again on PostgreSQL. */
const onPostgres = [
  'test/server/store/{leases,plans,transfers,due-times}.test.ts',
  'test/server/http/{idempotency,rate-limits,references}.test.ts',
  'test/server/pipeline/{busy-collection,lost-tokens,minting,mints-in-flight,follow-owners,remote-signer,requested-actions,reordered-mints,reordered-transfers,watch-settled,restored-database,restored-cluster,solana-changes,lost-commits,optimize-step}.test.ts',
  'test/server/transfers/owner-block.test.ts',
  'test/server/updates/{updatednft,burnnft,commitprovenance,nft-history,reorg,solana}.test.ts',
  'test/server/database/*.test.ts',
  'test/server/setup/first-version.test.ts',
  'test/server/webhooks/{events,delivery,outbox,update}.test.ts',
  'test/server/postgres/**/*.test.ts',
  'test/server/storage/settings.test.ts',
  'test/server/explorer/*.test.ts',
  // Slow tests run only in the long form.
  ...(isSoak
    ? ['test/server/pipeline/{reorgs,shared-network}.test.ts', 'test/server/transfers/transfernft.test.ts']
    : []),
]

const postgres = {
  name: 'postgres',
  include: findPostgres() === null ? ['test/postgres-missing.test.ts'] : onPostgres,
  globalSetup: findPostgres() === null ? [] : ['test/helpers/postgres-setup.ts'],
  setupFiles: findPostgres() === null ? [] : ['test/helpers/use-postgres.ts'],
}

/** What `npm test` leaves to `npm run test:all`: it takes minutes, or needs programs that few machines have. */
const LONG = [
  // Kills, power cuts, crashes, full disks and races of processes.
  'test/batch/{crash,kill,lookup-kill,power-cut,race,race-backend,random-faults}.test.ts',
  'test/operations/{crash,processes,random-faults}.test.ts',
  'test/lib/processes.test.ts',
  'test/state/power-cut.test.ts',
  'test/server/data-dir/disk-full.test.ts',
  'test/cli/stopped-process.test.ts',
  'test/client/pace/processes.test.ts',
  'test/server/{solana-kill,storage/killed,updates/kill,webhooks/kill}.test.ts',
  'test/e2e/{apply-chaos,batch-references,cluster,drop,executable,kill-backend,kill-batch,machines,max-cost,power-cut,together}.test.ts',
  // Chaos, reorgs, restored backups and failing networks.
  'test/server/pipeline/{busy-collection,chaos,hostile-files,ipfs-files,lost-commits,reorgs,restored-database,restored-cluster,shared-network,solana-faults}.test.ts',
  'test/server/chain/evm/embedded/replay-property.test.ts',
  'test/server/pipeline/shared-owners.test.ts',
  'test/plan/restored-burns.test.ts',
  'test/e2e/{external-network,ipfs-gateway,local-port,network,process-secrets}.test.ts',
  'test/e2e/{start-with-silent-storage,start-without-database,stop-without-answers}.test.ts',
  // Fuzz tests, and figures of time and memory.
  'test/server/http/{mutated-requests,wallet-memory}.test.ts',
  'test/server/chain/evm/embedded/figures.test.ts',
  // Shells and browsers.
  'test/completion/static.test.ts',
  'test/e2e/completion.test.ts',
  'test/explorer/{gallery,live,login,pages,search}.test.ts',
  'test/cli/sheets-in-browser.test.ts',
  'test/server/http/{browser,hostile-pages,playground}.test.ts',
  // The package, the documents and every command of the CLI.
  'test/docs/how-to-add.test.ts',
  'test/deploy/container.test.ts',
  'test/cli/contract/output-contract.test.ts',
  'test/e2e/{batch-machine,canary,docs,github-action,pack,plan-memory,try}.test.ts',
]

export default defineConfig({
  define: await defineSheetScript(),
  test: {
    // Generous, so that a test fails only if its condition never becomes true.
    testTimeout: isSoak ? 3_600_000 : 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    pool: 'forks',
    // Many tests wait for processes and timers. `npm run test:rest` starts one per core.
    maxWorkers: Math.ceil(1.5 * availableParallelism()),
    // Its import of `typescript` is mocked, because it needs another version than the project's.
    server: { deps: { inline: ['openapi-typescript'] } },
    reporters: ['default', new SummaryReporter()],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/e2e/**', 'test/soak/**', 'test/server/postgres/**', 'test/postgres-missing.test.ts', ...LONG],
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          exclude: LONG,
        },
      },
      { extends: true, test: { name: 'long', include: LONG } },
      { extends: true, test: postgres },
      // Takes hours, so only `npm run soak` includes it.
      ...(isSoak ? [{ extends: true as const, test: soak }] : []),
    ],
  },
})
