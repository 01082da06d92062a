import type { Migration } from 'kysely'

/**
 * All migrations by name, in order. A released migration is never changed. Its code is loaded when it runs, because
 * most starts find the schema up to date.
 */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-initial': { up: async (db) => (await import('./0001-initial/index.ts')).createInitialSchema(db) },
  '0002-mints-in-flight': { up: async (db) => (await import('./0002-mints-in-flight.ts')).allowSeveralMints(db) },
  '0003-costs': { up: async (db) => (await import('./0003-costs.ts')).addCosts(db) },
  '0004-api-version': { up: async (db) => (await import('./0004-api-version.ts')).addApiVersion(db) },
  '0005-run-fees': { up: async (db) => (await import('./0005-run-fees.ts')).addRunFees(db) },
  '0006-contract-versions': {
    up: async (db) => (await import('./0006-contract-versions.ts')).addContractVersions(db),
  },
  '0007-lifecycle': { up: async (db) => (await import('./0007-lifecycle.ts')).addLifecycle(db) },
  '0008-update-references': {
    up: async (db) => (await import('./0008-update-references.ts')).addUpdateReferences(db),
  },
  '0009-provenance': { up: async (db) => (await import('./0009-provenance.ts')).addProvenance(db) },
  '0010-unknown-updates': { up: async (db) => (await import('./0010-unknown-updates.ts')).addUnknownUpdates(db) },
  '0011-frozen-collections': {
    up: async (db) => (await import('./0011-frozen-collections.ts')).addFrozenCollections(db),
  },
}
