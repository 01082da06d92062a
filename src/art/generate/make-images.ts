import { Worker } from 'node:worker_threads'
import { GdnError } from '../../core/errors.ts'
import { type ImageJob, type ImageSetup, imageMaker, type JobResult } from './image-job.ts'
import type { WorkerAnswer } from './worker.ts'

export interface MakeImagesOptions {
  threads: number
  /** Stops after the images in progress. */
  signal: AbortSignal
  onMade(result: JobResult): Promise<void>
}

/**
 * Makes images in worker threads. A single thread is the calling one.
 *
 * @throws the first error, after which no image is in progress
 */
export async function makeImages(
  setup: ImageSetup,
  jobs: readonly ImageJob[],
  { threads, signal, onMade }: MakeImagesOptions,
): Promise<void> {
  const queue = jobs.values()
  const take = () => {
    signal.throwIfAborted()
    return queue.next().value
  }
  const count = Math.min(threads, jobs.length)
  if (count <= 1) {
    const make = await imageMaker(setup)
    for (let job = take(); job !== undefined; job = take()) await onMade(await make(job))
    return
  }
  const workers = Array.from({ length: count }, () => new ImageWorker(setup))
  try {
    const work = async (worker: ImageWorker) => {
      for (let job = take(); job !== undefined; job = take()) await onMade(await worker.make(job))
    }
    const results = await Promise.allSettled(
      workers.map(async (worker) => {
        try {
          await work(worker)
        } catch (error) {
          // No other thread begins another image.
          while (!queue.next().done);
          throw error
        }
      }),
    )
    for (const result of results) if (result.status === 'rejected') throw result.reason
  } finally {
    await Promise.all(workers.map((worker) => worker.end()))
  }
}

/** A worker thread that makes one image at a time. */
class ImageWorker {
  readonly #worker: Worker
  #settle: ((answer: WorkerAnswer | Error) => void) | null = null

  constructor(setup: ImageSetup) {
    // The program is a file of its own in the bundle, one folder above the chunk with this function.
    this.#worker = new Worker(new URL('../art-worker.cjs', import.meta.url), { workerData: setup })
    this.#worker.on('message', (answer: WorkerAnswer) => this.#settle?.(answer))
    this.#worker.on('error', (error) => this.#settle?.(error instanceof Error ? error : new Error(String(error))))
    this.#worker.on('exit', () => this.#settle?.(new Error('a thread that makes images ended unexpectedly')))
  }

  async make(job: ImageJob): Promise<JobResult> {
    const answer = await new Promise<WorkerAnswer | Error>((resolve) => {
      this.#settle = resolve
      this.#worker.postMessage(job)
    })
    this.#settle = null
    if (answer instanceof Error) throw answer
    if ('made' in answer) return answer.made
    const { code, message, hint, place } = answer.error
    throw new GdnError(code, message, { hint, place })
  }

  async end(): Promise<void> {
    await this.#worker.terminate()
  }
}
