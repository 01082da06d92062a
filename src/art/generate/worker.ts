// The entry of a worker thread that makes images. It answers each job with its number and the image, or an error.
import { parentPort, workerData } from 'node:worker_threads'
import { GdnError } from '../../core/errors.ts'
import { fileError } from '../../core/file-error.ts'
import { type ImageJob, type ImageSetup, imageMaker, type JobResult } from './image-job.ts'

export type WorkerAnswer = { made: JobResult } | { error: WorkerError }

/** The parts of a GdnError that pass between threads. */
export type WorkerError = Pick<GdnError, 'code' | 'message' | 'hint' | 'place'>

const maker = imageMaker(workerData as ImageSetup)
// Each job awaits it. Without this, an error before the first job would end the thread.
maker.catch(() => {})

parentPort?.on('message', async (job: ImageJob) => {
  parentPort?.postMessage(await answer(job))
})

async function answer(job: ImageJob): Promise<WorkerAnswer> {
  try {
    const make = await maker
    return { made: await make(job) }
  } catch (error) {
    const found = error instanceof GdnError ? error : fileError(error)
    if (found === null) throw error
    const { code, message, hint, place } = found
    return { error: { code, message, hint, place } }
  }
}
