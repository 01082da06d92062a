import { useEffect } from 'preact/hooks'
import { shortened } from './format.ts'

/** Sets the title of the page, in its tab and for screen readers. */
export function useTitle(title: string | undefined): void {
  useEffect(() => {
    document.title = title === undefined || title === '' ? 'gdn explorer' : `${shortened(title, 60, 8)} · gdn explorer`
  }, [title])
}
