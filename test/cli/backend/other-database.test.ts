/** @module-tag slow */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CURRENT_SCHEMA } from '../../../src/server/store/migrate.ts'
import { openSqlite } from '../../../src/sqlite/driver.ts'
import { startTestBackend } from '../../helpers/backend.ts'
import { digestsOf } from '../../helpers/digests.ts'
import { cli, errorOf, tempHome } from '../harness.ts'

const DATABASE = 'gdn.db'

/** A data directory of a gdn with another initial schema, as its backend left it. */
async function ofAnotherGdn() {
  const { dir, env } = await tempHome()
  const dataDir = join(dir, 'data')
  await mkdir(dataDir, { mode: 0o700 })
  await writeFile(join(dataDir, 'backend.yaml'), 'chains: {}\n', { mode: 0o600 })
  await (await startTestBackend(dataDir)).close()
  const database = openSqlite(join(dataDir, DATABASE))
  // With an empty log, the file stays as it is when connections of this process are closed later.
  database.exec("update kysely_migration set name = '0001-initial-89abcdef'; pragma wal_checkpoint(truncate)")
  database.close()
  return { dir, env, dataDir }
}

test.each([
  ['serve', '--port', '0'],
  ['db', 'status'],
  ['db', 'migrate'],
  ['db', 'export', '../all.jsonl'],
  ['db', 'import', 'backend.yaml'],
  ['key', 'list'],
  ['key', 'create', '--name', 'a', '--email', 'a@example.com', '--permission', 'all'],
  ['tx', 'list'],
  ['tx', 'unknown'],
  ['webhook', 'list'],
  ['local', 'listen'],
])('%s %s refuses data of another schema, names both schemas, and changes nothing', async (...argv) => {
  const { env, dataDir } = await ofAnotherGdn()
  const before = await digestsOf(dataDir)
  const result = await cli([...argv, '--data-dir', dataDir, '--json'], { env, cwd: dataDir })
  expect({ code: result.code, stdout: result.stdout }).toEqual({ code: 2, stdout: '' })
  expect(errorOf(result)).toMatchObject({
    code: 'data_dir',
    message: `${join(dataDir, DATABASE)} was created by another version of gdn: it has schema 0001-initial-89abcdef, and this version has schema ${CURRENT_SCHEMA}`,
    hint: expect.stringMatching(/^Nothing was changed\./),
  })
  expect(await digestsOf(dataDir)).toEqual(before)
})

test('doctor fails for data of another schema, names both schemas, and changes nothing', async () => {
  const { env, dataDir } = await ofAnotherGdn()
  const before = await digestsOf(dataDir)
  const { code, stdout } = await cli(['doctor', '--data-dir', dataDir, '--json'], { env, cwd: dataDir })
  const checks = JSON.parse(stdout) as { check: string; status: string; message: string }[]
  expect(checks.filter(({ check }) => check === 'database')).toMatchObject([
    { status: 'fail', message: expect.stringContaining(`it has schema 0001-initial-89abcdef, and this version has`) },
  ])
  expect(code).toBe(2)
  expect(await digestsOf(dataDir)).toEqual(before)
})
