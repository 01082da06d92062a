import { createTransport } from '../../client/create-transport.ts'
import { isDataDirectory, localApiKey, runningBackend } from '../../config/local-backend.ts'
import { localDataDirectory } from '../../config/paths.ts'
import { GdnError, messageOf } from '../../core/errors.ts'
import type { Deps } from '../deps.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

const TIMEOUT_MS = 10_000

/** The backend of `gdn local start`. That it doesn't run is no fault. */
export async function checkLocalBackend({ env, signals }: Deps): Promise<Finding> {
  const check = 'local backend'
  const dataDir = localDataDirectory(env)
  const backend = await runningBackend(dataDir)
  if (backend === null) {
    return ok(check, (await isDataDirectory(dataDir)) ? `not running; its data is in ${dataDir}` : 'never started')
  }
  try {
    await localApiKey(dataDir)
    const transport = await createTransport('single')
    const { status, body } = await transport.request({
      method: 'GET',
      url: `${backend.url}/readyz`,
      headers: {},
      timeoutMs: TIMEOUT_MS,
      signal: signals.signal,
    })
    await transport.close()
    if (status === 200) return ok(check, `serves on ${backend.url}`)
    return warn(check, `is not ready: ${Buffer.from(body).toString('utf8').slice(0, 200)}`, 'its log: gdn local logs')
  } catch (error) {
    if (error instanceof GdnError) return fail(check, error)
    return fail(
      check,
      new GdnError('unreachable', `process ${backend.pid} should serve on ${backend.url}: ${messageOf(error)}`, {
        hint: 'start it anew: gdn local stop && gdn local start',
      }),
    )
  }
}
