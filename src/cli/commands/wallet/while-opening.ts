import { rejectOnAbort } from '../../../core/or-aborted.ts'
import type { Deps } from '../../deps.ts'

/**
 * Shows progress while a keystore is opened, which can take seconds. Returns the result of `open`.
 *
 * @throws the signal's reason as soon as the command is interrupted
 */
export async function openWithProgress<Opened>(
  { io, signals }: Pick<Deps, 'io' | 'signals'>,
  open: () => Promise<Opened>,
): Promise<Opened> {
  const progress = await io.progress('Opening the keystore')
  try {
    return await rejectOnAbort(open(), signals.signal)
  } finally {
    progress.stop()
  }
}
