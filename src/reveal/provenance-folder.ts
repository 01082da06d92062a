import { join } from 'node:path'

/**
 * Returns the folder of the commitments that this machine sent. The folder is created for the first unrevealed drop.
 */
export const provenanceFolder = (stateDir: string): string => join(stateDir, 'provenance')
