import type { Io } from '../io/io.ts'
import type { Progress } from '../io/progress.ts'

/** Progress is shown only for responses that take longer. */
const SLOW_MS = 500

/** Awaits a response. If it is slow, a terminal shows which server gdn is waiting for. */
export async function awaitResponse<Response>(io: Io, origin: string, response: Promise<Response>): Promise<Response> {
  if (!io.stderrTty) return await response
  let progress: Promise<Progress> | undefined
  const timer = setTimeout(() => {
    progress = io.progress(`Waiting for ${origin}`)
  }, SLOW_MS)
  try {
    return await response
  } finally {
    clearTimeout(timer)
    const shown = await progress
    shown?.stop()
  }
}
