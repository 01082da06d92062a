import nodePath, { type PlatformPath } from 'node:path'
import { labelProblem } from '../../api/reference-id.ts'
import { sha256Hex } from '../../core/sha256-hex.ts'

/** Checks that determine the folder to which the path in a label is relative. */
export interface LabelRoots {
  /** Returns whether a folder is the root of a Git repository. */
  isRepository(folder: string): boolean | Promise<boolean>
  /** Returns whether a folder has a gdn configuration file. */
  isProject(folder: string): boolean | Promise<boolean>
}

/**
 * Returns the label of a run's reference IDs: the run's name, or else the path of its manifest in the repository or
 * project. The label is the same on every machine, but differs between manifests with the same file name. If the run's
 * name is the manifest's file name, the label is the path too, because the reference IDs are the same without the name.
 *
 * @returns null if the run has no name and its manifest isn't in a repository or project
 */
export async function runLabel(
  { runName, manifestPath }: { runName: string | undefined; manifestPath: string | null },
  { isRepository, isProject }: LabelRoots,
  path: PlatformPath = nodePath,
): Promise<string | null> {
  const nameLabel = runName === undefined ? null : labelText(runName)
  if (manifestPath === null || (nameLabel !== null && nameLabel !== labelText(path.basename(manifestPath))))
    return nameLabel
  const folders = [path.dirname(manifestPath)]
  for (let folder = folders[0] ?? ''; folder !== path.dirname(folder); ) {
    folder = path.dirname(folder)
    folders.push(folder)
  }
  for (const isRoot of [isRepository, isProject]) {
    for (const folder of folders) {
      if (await isRoot(folder)) return labelText(path.relative(folder, manifestPath).split(path.sep).join('/'))
    }
  }
  return nameLabel
}

/** Returns a text as a label, or the hash of the text if the text is too long or not printable. */
function labelText(text: string): string {
  // Normalize the text, because macOS may return file names with decomposed characters.
  const label = text.toWellFormed().normalize('NFC')
  return labelProblem(label) === null ? label : `sha256:${sha256Hex(label)}`
}
