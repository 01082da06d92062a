/** The file in an output folder of `gdn art generate` that lists the images and their hashes. */
export const EDITION_FILE = 'edition.json'

/** The manifest in an output folder of `gdn art generate`. */
export const MANIFEST_FILE = 'manifest.csv'
