import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { isInstalled, reasonIn } from '../../src/build/install.mjs'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const zod = { version: '4.0.0', integrity: 'sha512-a', dev: true }
const native = { version: '1.0.0', integrity: 'sha512-b', optional: true }

let root: string

beforeEach(async () => {
  root = await temporaryFolder('gdn-install-')
  await mkdir(join(root, 'node_modules'))
  await write('package-lock.json', { '': { name: 'gdn' }, 'node_modules/zod': zod, 'node_modules/native': native })
})

function write(file: string, packages: object): Promise<void> {
  return writeFile(join(root, file), JSON.stringify({ packages }))
}

const found = (packages: object) => write('node_modules/.package-lock.json', packages)

describe('setup', () => {
  test('skips the installation if the packages match the lock file', async () => {
    await found({ 'node_modules/zod': zod, 'node_modules/native': native })
    expect(await isInstalled(root)).toBe(true)
  })

  test('skips the installation if only an optional package for another machine is missing', async () => {
    await found({ 'node_modules/zod': zod })
    expect(await isInstalled(root)).toBe(true)
  })

  test.each([
    ['one is missing', { 'node_modules/native': native }],
    ['one has another version', { 'node_modules/zod': { ...zod, version: '4.0.1' } }],
    ['one has other content', { 'node_modules/zod': { ...zod, integrity: 'sha512-c' } }],
    ['one is not in the lock file any more', { 'node_modules/zod': zod, 'node_modules/old': zod }],
  ])('installs packages when %s', async (_, packages) => {
    await found(packages)
    expect(await isInstalled(root)).toBe(false)
  })

  test('installs packages when none are installed, or npm was interrupted', async () => {
    expect(await isInstalled(root)).toBe(false)
    await writeFile(join(root, 'node_modules/.package-lock.json'), '{"packa')
    expect(await isInstalled(root)).toBe(false)
  })
})

describe('a failed installation', () => {
  const WARNING = "npm warn EBADENGINE Unsupported engine { package: 'a@1.0.0' }"

  test("shows npm's errors without the warnings before them", () => {
    const errors = ['npm error code ECONNREFUSED', 'npm error network request to https://packages.example/a failed']
    expect(reasonIn([...Array(40).fill(WARNING), ...errors, ''].join('\n'))).toBe(errors.join('\n'))
  })

  test('shows the last lines if npm names no error', () => {
    const lines = [...Array(40).fill(WARNING), 'Killed'].join('\n')
    expect(reasonIn(lines).split('\n')).toHaveLength(15)
    expect(reasonIn(lines)).toMatch(/Killed$/)
  })
})
