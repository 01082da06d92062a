// The entry point of a worker thread that generates images. For each job, it responds with the job's number and the
// image or an error.
import { parentPort, workerData } from 'node:worker_threads'
import { GdnError } from '../../core/errors.ts'
import { fileError } from '../../core/file-error.ts'
import { createImageMaker, type ImageJob, type ImageSetup, type JobResult } from './image-job.ts'

export interface WorkerResponse {
  /** The job's number. */
  number: number
  result: JobResult | WorkerError
}

/** The fields of a GdnError that are passed between threads. */
export type WorkerError = Pick<GdnError, 'code' | 'message' | 'hint' | 'place'>

const makerPromise = createImageMaker(workerData as ImageSetup)
// Each job awaits this promise. Without the handler, an error before the first job would end the thread.
makerPromise.catch(() => {})

parentPort?.on('message', async (job: ImageJob) => {
  const answer: WorkerResponse = { number: job.item.number, result: await runJob(job) }
  parentPort?.postMessage(answer)
})

async function runJob(job: ImageJob): Promise<WorkerResponse['result']> {
  try {
    const make = await makerPromise
    return await make(job)
  } catch (error) {
    const gdnError = error instanceof GdnError ? error : fileError(error)
    if (gdnError === null) throw error
    const { code, message, hint, place } = gdnError
    return { code, message, hint, place }
  }
}
