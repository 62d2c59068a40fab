import type { ModelViewerElement } from '@google/model-viewer';
import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

declare module 'preact' {
  namespace JSX {
    interface IntrinsicElements {
      'model-viewer': {
        children?: ComponentChildren;
        ref: RefObject<ModelViewerElement | null>;
        src: string;
        alt: string;
        poster: string | undefined;
        'camera-controls': boolean;
        'touch-action': string;
        'shadow-intensity': string;
        'interaction-prompt': string;
        ar: boolean;
      };
    }
  }
}

type Viewer = typeof import('./model-viewer.js');

/** The GLB, to be turned with mouse, finger or arrow keys, seen as a wireframe, and put into the room where the device can. */
export function Model({ glb, thumbnail }: { glb: string; thumbnail: string | undefined }) {
  const element = useRef<ModelViewerElement>(null);
  const [viewer, setViewer] = useState<Viewer>();
  const [state, setState] = useState<'loading' | 'loaded' | 'failed'>('loading');
  const [wireframe, setWireframe] = useState(false);
  useEffect(() => {
    const { current } = element;
    if (!current) return;
    const loaded = () => setState('loaded');
    const failed = () => setState('failed');
    current.addEventListener('load', loaded);
    current.addEventListener('error', failed);
    import('./model-viewer.js').then(setViewer, failed);
    return () => {
      current.removeEventListener('load', loaded);
      current.removeEventListener('error', failed);
    };
  }, []);
  useEffect(() => {
    if (viewer && element.current && state === 'loaded' && wireframe) return viewer.showWireframe(element.current);
  }, [viewer, state, wireframe]);
  return (
    <div class="model" data-state={state}>
      <model-viewer
        ref={element}
        src={glb}
        poster={thumbnail}
        alt="The model. Arrow keys turn it, plus and minus zoom."
        camera-controls
        touch-action="pan-y"
        shadow-intensity={wireframe ? '0' : '0.6'}
        interaction-prompt="none"
        ar
      >
        <button type="button" slot="ar-button" class="ar">
          View in your room
        </button>
      </model-viewer>
      {state === 'loaded' && (
        <button
          type="button"
          class="small as-wireframe"
          aria-pressed={wireframe}
          onClick={() => setWireframe(!wireframe)}
        >
          Wireframe
        </button>
      )}
      {state === 'failed' && (
        <p role="alert" class="why">
          The model could not be shown here. Its file can be downloaded all the same.
        </p>
      )}
    </div>
  );
}
