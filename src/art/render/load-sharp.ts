import { isMainThread } from 'node:worker_threads'
import type sharpModule from 'sharp'
import { GdnError, messageOf, systemCode } from '../../core/errors.ts'
import { isExecutable } from '../../core/own-command.ts'

export type Sharp = typeof sharpModule

/**
 * The exact version of sharp that gdn requires, because a different version could decode or scale images to different
 * pixels.
 */
export const SHARP_VERSION = '0.35.5'

const PLATFORMS = 'sharp has builds for Linux, macOS and Windows, on x64 and arm64.'

/**
 * Loads sharp, an optional dependency. Enables only the decoders for the formats that layers can have. The main thread
 * must call this function before a worker thread does.
 *
 * @param load loads the module. Default: imports the installed package
 * @throws GdnError `native_missing` with the command that installs sharp
 */
export async function loadSharp(
  load: () => Promise<unknown> = importSharp,
  { isPacked = isExecutable(), isMain = isMainThread } = {},
): Promise<Sharp> {
  if (isPacked) {
    throw new GdnError('native_missing', "the gdn executable doesn't contain sharp, which renders the images", {
      hint: 'To generate images, install gdn with npm.',
    })
  }
  try {
    const { default: sharp } = (await load()) as { default: Sharp }
    prepare(sharp, isMain)
    return sharp
  } catch (cause) {
    const isMissing = ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'].includes(systemCode(cause) ?? '')
    const reason = isMissing
      ? "the package sharp, which renders the images, isn't installed"
      : `sharp can't run on this machine: ${firstLine(cause)}`
    throw new GdnError('native_missing', reason, {
      hint: `Run \`npm install --include=optional sharp@${SHARP_VERSION} @img/sharp-wasm32@${SHARP_VERSION}\` in the folder of gdn. The second package runs on every machine. ${PLATFORMS}`,
      cause,
    })
  }
}

const preparedModules = new WeakSet<Sharp>()

/**
 * Sets the options of libvips once. All threads of a process share these options. While the decoders are being set,
 * reading an image in another thread fails. With WASM, each thread has its own copy of libvips.
 */
function prepare(sharp: Sharp, isMain: boolean): void {
  if (preparedModules.has(sharp) || (!isMain && !('emscripten' in sharp.versions))) return
  preparedModules.add(sharp)
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({ operation: ALLOWED_LOADERS })
  // Images are generated concurrently, each by a single thread, and no file is read twice within a short time.
  sharp.concurrency(1)
  sharp.cache(false)
}

const ALLOWED_LOADERS = ['Png', 'Jpeg', 'Webp'].map((format) => `VipsForeignLoad${format}Buffer`)

const importSharp = async (): Promise<unknown> => await import('sharp')

const firstLine = (cause: unknown): string => messageOf(cause).split('\n', 1)[0] ?? ''
