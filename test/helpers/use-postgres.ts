import { inject } from 'vitest'

// Tells test-database.ts which database to open.
process.env.GDN_TEST_POSTGRES = inject('postgres')
