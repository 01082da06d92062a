import * as z from 'zod'
import { type BeaconChain, derivePublicKey, isPublicKey, signRound, verifyBeacon } from '../../api/beacon.ts'
import { GdnError, type Place } from '../../core/errors.ts'
import { sha256Hex } from '../../core/sha256-hex.ts'
import { parseStrictJson } from '../../core/strict-json.ts'

/** A file with a beacon for tests and rehearsals. */
export interface BeaconFile {
  /** The path for messages. */
  name: string
  text: string
}

const hexBytesSchema = (bytes: number) =>
  z
    .string({ error: 'must be hex digits in a string' })
    .regex(new RegExp(`^[0-9a-fA-F]{${bytes * 2}}$`), { error: `must be ${bytes * 2} hex digits` })
    .transform((digits): Uint8Array => Buffer.from(digits, 'hex'))

const wholeNumberSchema = z.int({ error: 'must be a whole number' }).min(1, { error: 'must be at least 1' })

/** The end of the year 9999. The limit ensures that the time of each round is a valid date. */
const MAX_TIME_SECONDS = 253_402_300_799
/** One year, in seconds. */
const MAX_PERIOD_SECONDS = 31_536_000
const wholeNumberUpToSchema = (max: number) => wholeNumberSchema.max(max, { error: `must be at most ${max}` })

const beaconFileSchema = z.strictObject(
  {
    public_key: hexBytesSchema(96).refine(isPublicKey, { error: 'is not a public key in G2' }),
    genesis_time: wholeNumberUpToSchema(MAX_TIME_SECONDS),
    period: wholeNumberUpToSchema(MAX_PERIOD_SECONDS),
    rounds: z.array(z.strictObject({ round: wholeNumberSchema, signature: hexBytesSchema(48) })).default([]),
    secret_key: hexBytesSchema(32).optional(),
  },
  { error: 'must be a JSON object with only public_key, genesis_time, period, rounds and secret_key' },
)

/**
 * Returns the beacon of a file. If the file has a secret key, the beacon signs any round, so tests don't need to wait
 * for a round.
 *
 * @throws GdnError `invalid_input`
 */
export function parseBeaconFile({ name, text }: BeaconFile) {
  const beaconFileError = (message: string, place: Place = {}) =>
    new GdnError('invalid_input', message, {
      place: { file: name, ...place },
      hint: 'A beacon file is for tests (docs/shuffle.md). Without --beacon, gdn uses drand.',
    })
  const parsed = beaconFileSchema.safeParse(parseStrictJson(text, name, 'invalid_input'))
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw beaconFileError(issue?.message ?? 'is malformed', { field: issue?.path.join('.') || undefined })
  }
  const { public_key: publicKey, genesis_time: genesisTime, period, rounds, secret_key: secretKey } = parsed.data
  if (secretKey !== undefined && !Buffer.from(derivePublicKey(secretKey) ?? []).equals(publicKey)) {
    throw beaconFileError('is not the secret key of public_key', { field: 'secret_key' })
  }
  const hash = sha256Hex(publicKey)
  const chain: BeaconChain = { hash, publicKey, genesisTime, period }
  const recorded = new Map(rounds.map(({ round, signature }) => [round, signature]))
  return {
    chain,
    isNamed: true,
    isEarly: secretKey !== undefined,
    unreachable: async () => null,
    read: async (round: number) => {
      const signature = recorded.get(round) ?? (secretKey === undefined ? undefined : signRound(secretKey, round))
      if (signature === undefined) throw beaconFileError(`has no round ${round}`)
      return verifyBeacon(chain, round, signature)
    },
  }
}
