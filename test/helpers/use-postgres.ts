import { inject } from 'vitest'

// What opens a database in these tests looks here; see test-database.ts.
process.env.GDN_TEST_POSTGRES = inject('postgres')
