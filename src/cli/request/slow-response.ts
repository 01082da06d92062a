import type { Io } from '../io/io.ts'
import type { Progress } from '../io/progress.ts'

/** Time in milliseconds after which progress is shown. */
const SHOW_PROGRESS_AFTER_MS = 500

/** Awaits a response. If the response is slow, a terminal shows which server gdn is waiting for. */
export async function awaitResponse<Response>(io: Io, origin: string, response: Promise<Response>): Promise<Response> {
  if (!io.stderrTty) return await response
  let progress: Promise<Progress> | undefined
  const timer = setTimeout(() => {
    progress = io.progress(`Waiting for ${origin}`)
  }, SHOW_PROGRESS_AFTER_MS)
  try {
    return await response
  } finally {
    clearTimeout(timer)
    const shownProgress = await progress
    shownProgress?.stop()
  }
}
