import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { execa } from 'execa'
import { expect, test } from 'vitest'
import { readPage } from '../helpers/pasted-page.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

/** Runs the script of docs/ci.md with a gdn whose commands end with these exit codes. Returns its exit code. */
async function exitCodeWith(codes: Readonly<Record<string, number>>) {
  const dir = await temporaryFolder('gdn-ci-')
  const [, script = ''] = /cat > mint\.sh <<'END'\n(.*?)^END$/ms.exec(await readPage('docs/ci.md')) ?? []
  const cases = Object.entries(codes).map(([command, code]) => `"batch ${command}") exit ${code} ;;`)
  const gdn = ['#!/bin/sh', 'case "$1 $2" in', ...cases, '*) exit 1 ;;', 'esac', ''].join('\n')
  await writeFile(join(dir, 'gdn'), gdn, { mode: 0o755 })
  await writeFile(join(dir, 'mint.sh'), script)
  const env = { PATH: `${dir}:${process.env.PATH}`, CONTRACT: '0x' }
  const { exitCode } = await execa('bash', ['mint.sh'], { cwd: dir, env, reject: false })
  return exitCode
}

test.each([
  ['keeps 9 for a job without a run, whose rows seem to be minted', { mint: 9, status: 2, reconcile: 2, resume: 2 }, 9],
  ['ends with 0 if the run is reconciled and resumed', { mint: 9, status: 0, reconcile: 0, resume: 0 }, 0],
  ['ends with 9 if the outcome stays unknown', { mint: 9, status: 0, reconcile: 9, resume: 0 }, 9],
  ['ends with 2 for an error in the manifest', { mint: 2 }, 2],
  ['ends with 7 if rows fail again', { mint: 7, retry: 7 }, 7],
] as const)('the script of docs/ci.md %s', async (_, codes, exitCode) => {
  expect(await exitCodeWith(codes)).toBe(exitCode)
})
