import type { Store } from '../open-store.ts'
import { type Direct, keepDirect } from './direct.ts'

export interface OnlyOne extends Direct {
  /** Whether it is this process that has it. */
  readonly held: boolean
}

/**
 * Something that one of all processes has at a time; when it ends, however it ends, another takes over. The lock is one
 * of a transaction that stays open: a pooler must leave its connection alone as well, and it holds no snapshot, so that
 * the database is tidied up as ever.
 *
 * @param onChange `held` after it has changed; before another process can have it, work that needs it is over when this
 *   resolves, unless the connection was lost
 */
export function holdOnlyOne(
  store: Store,
  name: string,
  onChange: (held: boolean) => void | Promise<void>,
): Promise<OnlyOne> {
  const { postgres } = store
  if (postgres === null) throw new Error('nobody else has this database')
  let held = false
  return new Promise((resolve) => {
    const direct = keepDirect({
      config: postgres.direct,
      async open(client) {
        await client.query('begin; set local idle_in_transaction_session_timeout = 0')
        const { rows } = await client.query<{ taken: boolean }>(
          'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as taken',
          [`gdn ${name}`],
        )
        held = rows[0]?.taken === true
        if (held) await onChange(true)
        resolve(one)
        return held
      },
      async onLost() {
        held = false
        await onChange(false)
      },
    })
    const one: OnlyOne = {
      get held() {
        return held
      },
      close: () => direct.close(),
    }
    // A server that can't be reached at this moment keeps nobody from starting.
    setTimeout(() => resolve(one), 5000).unref()
  })
}
