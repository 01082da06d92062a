import type { Migration } from 'kysely'
import * as first from './0001-first.ts'
import * as solana from './0002-solana.ts'
import * as transfers from './0003-transfers.ts'
import * as signedUrls from './0004-signed-urls.ts'
import * as attempts from './0005-attempts.ts'
import * as lookups from './0006-lookups.ts'
import * as ownerBlock from './0007-owner-block.ts'
import * as networks from './0008-networks.ts'
import * as processes from './0009-processes.ts'
import * as wishes from './0010-wishes.ts'
import * as places from './0011-places.ts'
import * as webhooks from './0012-webhooks.ts'
import * as explorer from './0013-explorer.ts'
import * as followers from './0014-followers.ts'
import * as identity from './0015-identity.ts'
import * as unknownMints from './0016-unknown-mints.ts'

/** Every migration by its name, in the order of the names. One that was released is never changed. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-first': first,
  '0002-solana': solana,
  '0003-transfers': transfers,
  '0004-signed-urls': signedUrls,
  '0005-attempts': attempts,
  '0006-lookups': lookups,
  '0007-owner-block': ownerBlock,
  '0008-networks': networks,
  '0009-processes': processes,
  '0010-wishes': wishes,
  '0011-places': places,
  '0012-webhooks': webhooks,
  '0013-explorer': explorer,
  '0014-followers': followers,
  '0015-identity': identity,
  '0016-unknown-mints': unknownMints,
}
