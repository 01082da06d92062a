// `npm run mutate [-- [--core] <group> …]`: mutation tests of the code that keeps the promises of gdn. Changes it in one
// place at a time, runs the tests of its group, and prints how many changes fail a test. With --core, runs only those
// tests of the group that `npm test` runs.
import { availableParallelism } from 'node:os'
import { Stryker } from '@stryker-mutator/core'

/** Groups have their own tests, because a change of a constant runs all tests of its group. */
const GROUPS = {
  operations: {
    code: ['src/operations/{check-copy,hold,new-request,operate,repeatable,send,unknown-outcome}.ts'],
    tests: ['test/operations/{operate,send,copies,repeatable}.test.ts'],
  },
  'batch-send': {
    code: ['src/batch/send.ts'],
    tests: ['test/batch/{outcomes,run}.test.ts'],
  },
  'batch-classify': {
    code: ['src/batch/classify.ts'],
    tests: ['test/batch/classify.test.ts'],
  },
  'batch-claim': {
    code: ['src/batch/claim.ts'],
    tests: ['test/batch/{claim,edited-rows}.test.ts'],
  },
  'client-state': {
    code: ['src/state/{transitions,row-outcomes}.ts'],
    tests: ['test/operations/{operate,send}.test.ts', 'test/batch/{claim,outcomes}.test.ts'],
  },
  responses: {
    code: ['src/client/{outcome,answers,attempt}.ts'],
    tests: [
      'test/client/{client,answers}.test.ts',
      'test/operations/{operate,send}.test.ts',
      'test/batch/outcomes.test.ts',
    ],
  },
  'server-state': {
    code: ['src/server/state/{collections,nfts,transactions,transfers}.ts'],
    // Not transitions.test.ts, which uses all features for each mutant.
    tests: [
      'test/server/state/writes.test.ts',
      'test/server/store/{leases,transfers}.test.ts',
      'test/server/webhooks/outbox.test.ts',
    ],
  },
  permissions: {
    code: ['src/server/http/auth.ts', 'src/server/services/authenticate.ts'],
    tests: ['test/server/http/{permissions,exposure}.test.ts'],
  },
  'rate-limit': {
    code: ['src/server/http/{rate-limits,memory-limiter}.ts'],
    tests: ['test/server/http/rate-limits.test.ts'],
  },
  'signed-urls': {
    code: [
      'src/wallet/signed-url.ts',
      'src/server/services/{signed-url,get-presigned-url,create-wallet}.ts',
      'src/server/store/signed-urls.ts',
    ],
    tests: ['test/wallet/signed-url.test.ts', 'test/server/http/{presigned-url,wallet}.test.ts'],
  },
  'imported-keys': {
    code: ['src/wallet/{derivation-path,mnemonic,new-key,read-key,store-key}.ts', 'src/keystore/solana-key.ts'],
    tests: ['test/wallet/{read-key,store-key}.test.ts', 'test/keystore/solana.test.ts'],
  },
  addresses: {
    code: ['src/files/address.ts'],
    tests: ['test/files/address.test.ts'],
  },
  'file-urls': {
    code: ['src/files/target.ts'],
    tests: ['test/files/{target,fetcher,canary}.test.ts'],
  },
  redaction: {
    code: ['src/core/{redact,secret}.ts'],
    tests: ['test/core/{redact,secret}.test.ts'],
  },
}

/** Reports and copies of the project. Files below node_modules would not be compiled. */
const FOLDER = '.stryker'

async function mutate(name) {
  const { code, tests } = GROUPS[name]
  process.env.GDN_MUTATE_TESTS = tests.join('\n')
  return await new Stryker({
    mutate: code,
    // The wording of messages and SQL: the first is not a promise, and the second always fails a test.
    mutator: { excludedMutations: ['StringLiteral'] },
    testRunner: 'vitest',
    vitest: { configFile: 'test/mutate.config.ts', related: false },
    coverageAnalysis: 'perTest',
    concurrency: Number(process.env.GDN_MUTATE_WORKERS ?? availableParallelism()),
    timeoutMS: 20_000,
    tempDirName: FOLDER,
    cleanTempDir: 'always',
    ignorePatterns: ['dist', 'docs'],
    disableTypeChecks: false,
    // Stryker reads this file with TypeScript's API, which version 7 lacks.
    tsconfigFile: 'none',
    reporters: ['json', 'html', ...(process.stdout.isTTY ? ['progress'] : [])],
    jsonReporter: { fileName: `${FOLDER}/reports/${name}.json` },
    htmlReporter: { fileName: `${FOLDER}/reports/${name}.html` },
    allowConsoleColors: false,
    logLevel: 'warn',
    warnings: { slow: false },
  }).runMutationTest()
}

const COUNTED = { Killed: 'killed', Timeout: 'killed', Survived: 'survived', NoCoverage: 'survived' }

async function main(args) {
  // Only the tests of `npm test`.
  if (args.includes('--core')) process.env.GDN_SUITE = 'core'
  const groups = args.filter((arg) => arg !== '--core')
  const unknown = groups.filter((name) => GROUPS[name] === undefined)
  if (unknown.length > 0) {
    process.stderr.write(`unknown group ${unknown.join(', ')}: must be one of ${Object.keys(GROUPS).join(', ')}\n`)
    return 2
  }
  const total = { killed: 0, survived: 0, seconds: 0 }
  process.stdout.write('| Group | Mutants | Killed | Score | Time |\n|---|---|---|---|---|\n')
  const print = (name, { killed, survived, seconds }) =>
    process.stdout.write(
      `| ${name} | ${killed + survived} | ${killed} | ${((100 * killed) / (killed + survived)).toFixed(1)} % | ${Math.round(seconds)} s |\n`,
    )
  for (const name of groups.length > 0 ? groups : Object.keys(GROUPS)) {
    const start = performance.now()
    const group = { killed: 0, survived: 0 }
    for (const { status } of await mutate(name)) if (status in COUNTED) group[COUNTED[status]]++
    group.seconds = (performance.now() - start) / 1000
    for (const key of Object.keys(total)) total[key] += group[key]
    print(name, group)
  }
  print('all', total)
  return 0
}

process.exitCode = await main(process.argv.slice(2))
