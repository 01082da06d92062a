/** @module-tag slow */
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { localDataDirectory, stateDirectory } from '../../../src/config/paths.ts'
import { changeSchema } from '../../helpers/change-schema.ts'
import { SCENARIOS } from '../contract/scenarios.ts'
import { cli, errorOf, tempHome } from '../harness.ts'

// Keystores with the default cost would take a minute here.
vi.mock(import('../../../src/keystore/limits.ts'), async (original) => ({
  ...(await original()),
  DEFAULT_SCRYPT: { n: 1024, r: 8, p: 1 } as never,
}))

/** Nouns that administer a backend or the configuration. */
const OTHERS = /^(key|db|chain|tx|webhook|auth|init|config|schema)\b/
/** Commands that need no state, in these scenarios. */
const WITHOUT_STATE =
  /^(nft (history|list|refresh|show|wait|verify)|collection (holders|set|archive|check|restore)|cost|art|batch (validate|rarity|rehearse)|wallet (url|proofs)|local)\b/

const COMMANDS = Object.entries(SCENARIOS).filter(([name]) => !OTHERS.test(name))

async function filesBelow(folder: string): Promise<Record<string, string>> {
  const entries = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
  // The lock of a reading stays.
  const kept = entries.filter(({ name }) => !name.endsWith('.db.lock'))
  const paths = kept.map(({ parentPath, name }) => join(parentPath, name)).sort()
  return Object.fromEntries(await Promise.all(paths.map(async (path) => [path, await readFile(path, 'base64')])))
}

test.each(COMMANDS)('gdn %s reports a state of another schema, and leaves it unchanged', async (name, { prepare }) => {
  const { argv, options } = await prepare()
  const stateDir = stateDirectory(options.env ?? {})
  await changeSchema(stateDir, 6)
  const before = await filesBelow(stateDir)
  const result = await cli([...argv, '--json'], options)
  expect(await filesBelow(stateDir)).toEqual(before)
  const message = expect.stringContaining(`${stateDir}/state.db has schema 6`)
  if (name === 'doctor') {
    expect(result.code).toBe(2)
    expect(JSON.parse(result.stdout)).toContainEqual(expect.objectContaining({ status: 'fail', message }))
  } else if (WITHOUT_STATE.test(name)) expect(result).toMatchObject({ code: 0, stderr: '' })
  else expect([result.code, errorOf(result)]).toMatchObject([2, { code: 'data_dir', message }])
})

test('gdn local reset deletes nothing while the state of its collections has another schema', async () => {
  const { dir, env } = await tempHome()
  const dataDir = localDataDirectory(env)
  await mkdir(dataDir, { recursive: true })
  await writeFile(join(dataDir, 'backend-id'), randomUUID())
  for (const name of ['lock.db', 'gdn.db']) await writeFile(join(dataDir, name), '')
  await changeSchema(stateDirectory(env), 6)
  const before = await filesBelow(dir)
  expect(errorOf(await cli(['local', 'reset', '--yes', '--json'], { env }))).toMatchObject({ code: 'data_dir' })
  expect(await filesBelow(dir)).toEqual(before)
})
