import { execFile } from 'node:child_process'
import { env } from 'node:process'
import { childEnvironment } from '../../../../core/child-environment.ts'
import { messageOf } from '../../../../core/errors.ts'
import { anvilCannotRunError, findAnvil } from './anvil-binary.ts'

const TIMEOUT_MS = 10_000

/**
 * Checks that embedded EVM chains can run on this machine, by running the binary once.
 *
 * @throws GdnError `native_missing` if the package isn't installed or the binary can't run on this system
 */
export async function checkAnvil(): Promise<void> {
  const binary = findAnvil()
  await new Promise<void>((resolve, reject) => {
    execFile(binary, ['--version'], { timeout: TIMEOUT_MS, env: childEnvironment(env) }, (error, _stdout, stderr) => {
      if (error === null) return resolve()
      reject(anvilCannotRunError(binary, stderr.trim().split('\n')[0] || messageOf(error), error))
    })
  })
}
