import { Worker } from 'node:worker_threads'
import { GdnError } from '../../core/errors.ts'
import { loadSharp } from '../render/load-sharp.ts'
import { createImageMaker, type ImageJob, type ImageSetup, type JobResult, type MakeImage } from './image-job.ts'
import type { WorkerResponse } from './worker.ts'

export interface MakeImagesOptions {
  threads: number
  /** Stops the work after the images in progress. */
  signal: AbortSignal
  onMade(result: JobResult): Promise<void>
}

/**
 * Maximum size of a thread's young generation, in MiB. The memory of encoded images is freed when V8 collects this
 * generation, so a larger one would hold more images.
 */
const YOUNG_GENERATION_MIB = 6

/** Number of images per thread: one is drawn while another is encoded, so that no processor is idle. */
const JOBS_PER_THREAD = 2

/**
 * Generates images in worker threads. With a single thread, uses the calling thread.
 *
 * @throws the first error, when no image is in progress any more
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
  const work = async (make: MakeImage) => {
    try {
      for (let job = take(); job !== undefined; job = take()) await onMade(await make(job))
    } catch (error) {
      // Empty the queue, so that no other image is started.
      while (!queue.next().done);
      throw error
    }
  }
  const count = Math.min(threads, jobs.length)
  await loadSharp()
  const workers = count <= 1 ? [] : Array.from({ length: count }, () => new ImageWorker(setup))
  const makers: MakeImage[] =
    count <= 1 ? [await createImageMaker(setup)] : workers.map((worker) => (job) => worker.make(job))
  try {
    const working = makers.flatMap((make) => Array.from({ length: JOBS_PER_THREAD }, () => work(make)))
    for (const result of await Promise.allSettled(working)) if (result.status === 'rejected') throw result.reason
  } finally {
    await Promise.all(workers.map((worker) => worker.end()))
  }
}

type SettleJob = (result: WorkerResponse['result'] | Error) => void

/** A worker thread that generates images. */
class ImageWorker {
  readonly #worker: Worker
  /** The promise callbacks, by job number. */
  readonly #settles = new Map<number, SettleJob>()

  constructor(setup: ImageSetup) {
    // In the bundle, the worker is a separate file, one folder above the chunk that contains this function.
    this.#worker = new Worker(new URL('../art-worker.cjs', import.meta.url), {
      workerData: setup,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB },
    })
    this.#worker.on('message', ({ number, result }: WorkerResponse) => this.#settles.get(number)?.(result))
    this.#worker.on('error', (error) => this.#fail(error instanceof Error ? error : new Error(String(error))))
    this.#worker.on('exit', () => this.#fail(new Error('a worker thread that renders images exited unexpectedly')))
  }

  async make(job: ImageJob): Promise<JobResult> {
    const { number } = job.item
    const result = await new Promise<Parameters<SettleJob>[0]>((resolve) => {
      this.#settles.set(number, resolve)
      this.#worker.postMessage(job)
    })
    this.#settles.delete(number)
    if (result instanceof Error) throw result
    if ('image' in result) return result
    const { code, message, hint, place } = result
    throw new GdnError(code, message, { hint, place })
  }

  async end(): Promise<void> {
    await this.#worker.terminate()
  }

  #fail(error: Error): void {
    for (const settle of this.#settles.values()) settle(error)
  }
}
