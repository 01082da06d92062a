import { join } from 'node:path'

/** Returns the folder of the commitments that this machine sent. It exists once there is an unrevealed drop. */
export const provenanceFolder = (stateDir: string): string => join(stateDir, 'provenance')
