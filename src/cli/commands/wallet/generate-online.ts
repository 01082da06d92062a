import { tmpdir } from 'node:os'
import { isAbsolute } from 'node:path'
import { GdnError } from '../../../core/errors.ts'
import { generateWallet, type WalletSource } from '../../../wallet/generate.ts'
import type { Deps } from '../../deps.ts'
import { signedUrlRequest } from './account.ts'
import type { GenerateFlags, GeneratorInput, WalletGenerator } from './generator.ts'
import { walletSource } from './wallet-source.ts'

interface OnlineGeneratorInput extends GeneratorInput {
  source: WalletSource
  /** Folders in which to save a keystore if the wallet folder isn't writable. */
  otherFolders: readonly string[]
}

const STEP_TEXTS = {
  deriving: 'Preparing the keystore',
  asking: 'Requesting a signed URL',
  calling: 'Generating the wallet',
  checking: 'Saving the key and checking that it can be read',
} as const

/** Returns a generator of wallets whose keys the service creates. */
export async function createOnlineGenerator(deps: Deps, flags: GenerateFlags): Promise<WalletGenerator> {
  if (flags.blockchain !== undefined) {
    throw new GdnError('usage', 'requires --offline: the service generates only EVM wallets', {
      place: { flag: '--blockchain' },
      hint: 'Add --offline, or omit --blockchain.',
    })
  }
  const settings = await deps.settings(flags)
  const request = await signedUrlRequest(deps.io, flags, settings)
  const connection = await deps.connect(settings)
  return async (making) => {
    const source = await walletSource(deps, connection, request)
    try {
      await generateAll(deps, { ...making, source, otherFolders: alternativeFolders(deps, settings.stateDir) })
    } finally {
      await source.close()
    }
  }
}

async function generateAll(
  deps: Deps,
  { source, otherFolders, reservations, folder, password, generatedWallets: newWallets }: OnlineGeneratorInput,
) {
  const { io, signals } = deps
  const count = reservations.length
  const progress = await io.progress(count === 1 ? STEP_TEXTS.deriving : `Wallet 1 of ${count}`)
  let step: keyof typeof STEP_TEXTS = 'deriving'
  // A second Ctrl-C must not end the process after the response arrives and before the key is saved.
  signals.own()
  const onSignal = () => {
    if (step !== 'calling') return
    progress.stop()
    io.warn(
      'Waiting for the response, which is the only copy of a key. Press Ctrl-C again to stop waiting and lose the key.',
    )
  }
  signals.signal.addEventListener('abort', onSignal)
  try {
    for (const [i, reservation] of reservations.entries()) {
      signals.signal.throwIfAborted()
      const wallet = await generateWallet({
        source,
        reservation,
        folder,
        password,
        otherFolders,
        signal: signals.signal,
        onStep(next) {
          step = next
          if (!signals.signal.aborted) progress.update(count === 1 ? STEP_TEXTS[next] : `Wallet ${i + 1} of ${count}`)
        },
      })
      newWallets.push(wallet)
    }
  } finally {
    progress.stop()
    signals.signal.removeEventListener('abort', onSignal)
  }
}

/** Returns folders in which to save a keystore if the wallet folder isn't writable. */
function alternativeFolders({ env, cwd }: Deps, stateDir: string): string[] {
  const places = [stateDir, env.HOME ?? '', cwd, tmpdir()]
  return [...new Set(places.filter((place) => isAbsolute(place)))]
}
