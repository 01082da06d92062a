import { type Beacon, type BeaconChain, QUICKNET, verifyBeacon } from '../../api/beacon.ts'
import { computeRoundTime, findRound } from '../../api/shuffle-rule.ts'
import { type RetryClock, SYSTEM_RETRY_CLOCK } from '../../client/retry-clock.ts'
import { retryRead } from '../../client/retry-read.ts'
import type { Transport, TransportResponse } from '../../client/transport.ts'
import { GdnError } from '../../core/errors.ts'
import { isObject, parseJson } from '../../core/json.ts'
import { trimSlashes } from '../../core/parse-url.ts'
import { type BeaconFile, parseBeaconFile } from './beacon-file.ts'

/** A source of rounds. The source doesn't need to be trusted, because each round is signed. */
export interface BeaconSource {
  chain: BeaconChain
  /** Whether the user specified the beacon with a file, so that it isn't drand's beacon. */
  isNamed: boolean
  /**
   * Returns a verified round. A beacon file with a secret key signs any round, including future ones.
   *
   * @throws GdnError `pending` if the round isn't published yet
   */
  read(round: number, signal: AbortSignal): Promise<Beacon>
  /** Whether the beacon signs rounds before their times, so that no wait is needed. */
  isEarly: boolean
  /** Returns why no relay has a recent round; null if a relay has one. Tries all relays concurrently, each once. */
  unreachable(signal: AbortSignal): Promise<string | null>
}

/** A relay that returned no valid round. The details of the error that `read` throws list these relays. */
export interface RelayProblem {
  origin: string
  why: string
}

export interface BeaconOptions {
  /** A beacon for tests. It replaces `urls`. */
  file?: BeaconFile | undefined
  /** The URLs of drand relays, tried one after the other. Default: DRAND_URLS. */
  urls?: readonly string[] | undefined
  transport: Pick<Transport, 'request'>
  userAgent: string
  /** Returns the Unix time in milliseconds. */
  now: () => number
  clock?: RetryClock
}

/** The public relays of drand's mainnet (https://docs.drand.love/developer/http-api). */
export const DRAND_URLS = [
  'https://api.drand.sh',
  'https://api2.drand.sh',
  'https://api3.drand.sh',
  'https://drand.cloudflare.com',
] as const

const RELAY_TIMEOUT_MS = 10_000
const MAX_RESPONSE_BYTES = 16_384
/** Age of a recent round in seconds. Each relay should have a round of this age. */
const RECENT_ROUND_SECONDS = 60
/** Maximum number of attempts per relay. One retry is enough, because the next relay is tried after a failure. */
const MAX_ATTEMPTS = 2

/**
 * Opens drand's quicknet, or the beacon of a file.
 *
 * @throws GdnError `invalid_input` if the file is malformed
 */
export function openBeacon(options: BeaconOptions): BeaconSource {
  const { file, urls = DRAND_URLS, now } = options
  if (file !== undefined) return parseBeaconFile(file)
  return {
    chain: QUICKNET,
    isNamed: false,
    isEarly: false,
    async unreachable(signal) {
      const round = findRound(QUICKNET, Math.floor(now() / 1000) - RECENT_ROUND_SECONDS)
      const results = await Promise.all(
        urls.map((url) => readAt(url, round, signal, options, { timeoutMs: 5_000, attempts: 1 })),
      )
      const problems = results.flatMap((result) => ('why' in result ? [result] : []))
      return problems.length < results.length ? null : relayProblemsText(problems)
    },
    async read(round, signal) {
      const time = computeRoundTime(QUICKNET, round)
      if (now() < time * 1000) throw tooEarlyError(round, time)
      const problems: FlawedRelayProblem[] = []
      for (const url of urls) {
        const result = await readAt(url, round, signal, options)
        if (!('why' in result)) return result
        problems.push(result)
      }
      const isForged = problems.every(({ isFlawed }) => isFlawed)
      throw new GdnError(
        isForged ? 'bad_answer' : 'unreachable',
        `can't read round ${round} of drand (${relayProblemsText(problems)})`,
        {
          hint: 'Run the command again, or set --beacon-url to other relays of drand.',
          details: { relays: problems.map(({ origin, why }): RelayProblem => ({ origin, why })) },
        },
      )
    },
  }
}

const relayProblemsText = (problems: readonly RelayProblem[]): string =>
  problems.map(({ origin, why }) => `${origin}: ${why}`).join(', ')

const tooEarlyError = (round: number, time: number) =>
  new GdnError(
    'pending',
    `round ${round} of drand will not be published before ${new Date(time * 1000).toISOString()}`,
    {
      hint: 'Run the command again after that time. If it has passed, correct the clock of this machine.',
    },
  )

interface FlawedRelayProblem extends RelayProblem {
  /** Whether the relay responded with status 200, but not with a validly signed round of the requested number. */
  isFlawed: boolean
}

async function readAt(
  url: string,
  round: number,
  signal: AbortSignal,
  { transport, userAgent, clock = SYSTEM_RETRY_CLOCK }: BeaconOptions,
  { timeoutMs, attempts } = { timeoutMs: RELAY_TIMEOUT_MS, attempts: MAX_ATTEMPTS },
): Promise<Beacon | FlawedRelayProblem> {
  const { origin } = new URL(url)
  const problem = (why: string, isFlawed = false): FlawedRelayProblem => ({ origin, why, isFlawed })
  let response: TransportResponse
  try {
    const once = () =>
      transport.request({
        method: 'GET',
        url: `${trimSlashes(url)}/${QUICKNET.hash}/public/${round}`,
        headers: { accept: 'application/json', 'user-agent': userAgent },
        timeoutMs,
        maxBytes: MAX_RESPONSE_BYTES,
        signal,
      })
    response = await retryRead(origin, clock, signal, once, attempts)
  } catch (error) {
    if (!(error instanceof GdnError) || signal.aborted) throw error
    return problem(error.message)
  }
  const { status, body } = response
  if (status === 404 || status === 425) return problem('does not have the round yet')
  if (status !== 200) return problem(`HTTP ${status}`)
  const parsed = parseJson(body)
  const { round: returnedRound, signature } = isObject(parsed) ? parsed : {}
  if (typeof signature !== 'string' || !/^[0-9a-f]{96}$/i.test(signature)) {
    return problem('did not return a round of quicknet', true)
  }
  if (returnedRound !== round) return problem('returned another round', true)
  try {
    return verifyBeacon(QUICKNET, round, Buffer.from(signature, 'hex'))
  } catch (error) {
    if (error instanceof GdnError) return problem(error.message, true)
    throw error
  }
}
