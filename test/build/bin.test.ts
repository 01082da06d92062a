/** @module-tag slow */
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { beforeEach, describe, expect, test } from 'vitest'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const MAIN = "exports.main = async (argv) => { process.stdout.write('ran ' + argv); return argv.length }"
const SETUP = `
  import { mkdirSync, writeFileSync } from 'node:fs'
  process.stdout.write('noise of the build')
  mkdirSync('dist')
  writeFileSync('dist/main.cjs', ${JSON.stringify(MAIN)})`

let folder: string

beforeEach(async () => {
  folder = await temporaryFolder('gdn-bin-')
  await write('package.json', '{"type":"module"}')
  await cp(fileURLToPath(new URL('../../bin', import.meta.url)), join(folder, 'bin'), { recursive: true })
})

async function write(file: string, text: string): Promise<void> {
  await mkdir(join(folder, file, '..'), { recursive: true })
  await writeFile(join(folder, file), text)
}

function gdn(...args: string[]) {
  return execa(process.execPath, ['bin/gdn.js', ...args], { cwd: folder, reject: false })
}

describe('bin/gdn.js', () => {
  test('passes on its arguments, and exits with the exit code of main', async () => {
    await write('dist/main.cjs', MAIN)
    expect(await gdn('nft', 'list')).toMatchObject({ stdout: 'ran nft,list', stderr: '', exitCode: 2 })
  })

  test('builds a source checkout without a build, and reserves stdout for the command', async () => {
    await write('src/build/setup.mjs', SETUP)
    const first = await gdn('x')
    expect(first).toMatchObject({ stdout: 'ran x', exitCode: 1 })
    expect(first.stderr).toContain('gdn is not built yet: building it now')
    expect(await gdn('x')).toMatchObject({ stdout: 'ran x', stderr: '' })
  })

  test('fails if that build fails', async () => {
    await write('src/build/setup.mjs', "process.stderr.write('no network'); process.exitCode = 3")
    const { stdout, stderr, exitCode } = await gdn('x')
    expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 1 })
    expect(stderr).toContain('no network')
    expect(stderr).not.toContain('    at ')
  })

  test.each(['12.22.12', '18.20.8', '20.18.3'])('names the required version on Node %s', async (version) => {
    await write('dist/main.cjs', MAIN)
    const versions = `Object.defineProperty(process, 'versions', { value: { node: '${version}' } })`
    await write('old.cjs', `${versions}; Object.defineProperty(process, 'version', { value: 'v${version}' })`)
    const run = await execa(process.execPath, ['-r', './old.cjs', 'bin/gdn.js'], { cwd: folder, reject: false })
    expect(run).toMatchObject({ stdout: '', exitCode: 1 })
    expect(run.stderr).toBe(`gdn needs Node.js 20.19 or newer; this is v${version}.`)
  })
})
