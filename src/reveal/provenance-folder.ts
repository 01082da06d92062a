import { join } from 'node:path'

/** Returns the folder of the commitments that this machine sent. The folder exists once there is an unrevealed drop. */
export const provenanceFolder = (stateDir: string): string => join(stateDir, 'provenance')
