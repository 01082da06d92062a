import type { Store } from '../open-store.ts'
import { type DirectConnection, keepDirectConnection } from './direct.ts'

export interface ExclusiveRole extends DirectConnection {
  /** Whether this process has the role. */
  readonly isHeld: boolean
}

/**
 * Acquires a role that only one process has at a time. If that process exits for any reason, another process takes
 * over. The lock belongs to an open transaction, so the role also works with a pooler. The transaction holds no
 * snapshot, so it doesn't delay vacuum.
 *
 * @param onChange called with the new value of `isHeld`. Another process can acquire the role only after this resolves,
 *   unless the connection was lost
 */
export function acquireExclusiveRole(
  store: Store,
  name: string,
  onChange: (held: boolean) => void | Promise<void>,
): Promise<ExclusiveRole> {
  const { postgres } = store
  if (postgres === null) throw new Error('only a PostgreSQL database can have several processes')
  let held = false
  return new Promise((resolve) => {
    const direct = keepDirectConnection({
      config: postgres.directConfig,
      async prepare(client) {
        await client.query('begin; set local idle_in_transaction_session_timeout = 0')
        const { rows } = await client.query<{ taken: boolean }>(
          'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as taken',
          [`gdn ${name}`],
        )
        held = rows[0]?.taken === true
        if (held) await onChange(true)
        resolve(handle)
        return held
      },
      async onLost() {
        held = false
        await onChange(false)
      },
    })
    const handle: ExclusiveRole = {
      get isHeld() {
        return held
      },
      close: () => direct.close(),
    }
    // Resolve after a timeout, because a temporarily unreachable server must not prevent the start.
    setTimeout(() => resolve(handle), 5000).unref()
  })
}
