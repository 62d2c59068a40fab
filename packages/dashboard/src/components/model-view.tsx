import type { ModelViewerElement } from '@google/model-viewer';
import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from './buttons.js';
import type { ModelFigures } from './model-viewer.js';

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
        'camera-orbit': string;
        'touch-action': string;
        'shadow-intensity': string;
        'interaction-prompt': string;
        ar: boolean;
      };
    }
  }
}

type Viewer = typeof import('./model-viewer.js');

/** Shows the model as its thumbnail does: yaw 0.56, pitch 0.3 (engine/src/render/render-view.ts) on a sphere. */
const threeQuarterOrbit = '0.56rad 1.271rad auto';

/** Puts the whole model into view again. */
function resetView(viewer: ModelViewerElement): void {
  viewer.cameraTarget = 'auto auto auto';
  viewer.fieldOfView = 'auto';
  viewer.cameraOrbit = threeQuarterOrbit;
}

function Toggle(props: { name: string; isOn: boolean; onChange: (isOn: boolean) => void }) {
  return (
    <Button label={props.name} class="small" aria-pressed={props.isOn} onClick={() => props.onChange(!props.isOn)} />
  );
}

/** Whether the element fills the screen. */
function useFullScreen(element: RefObject<HTMLElement | null>): boolean {
  const [isFull, setIsFull] = useState(false);
  useEffect(() => {
    const onChange = () => setIsFull(document.fullscreenElement === element.current);
    document.addEventListener('fullscreenchange', onChange);
    return () => document.removeEventListener('fullscreenchange', onChange);
  }, [element]);
  return isFull;
}

/** Shows the model for interaction, also as clay, as a wireframe and, on some devices, in augmented reality. */
export function ModelView(props: {
  glb: string;
  thumbnail: string | undefined;
  onMeasured: (figures: ModelFigures) => void;
}) {
  const { glb, thumbnail, onMeasured } = props;
  const frame = useRef<HTMLDivElement>(null);
  const element = useRef<ModelViewerElement>(null);
  const [viewer, setViewer] = useState<Viewer>();
  const [state, setState] = useState<'loading' | 'loaded' | 'failed'>('loading');
  const [surface, setSurface] = useState<'texture' | 'clay' | 'wireframe'>('texture');
  const isFullScreen = useFullScreen(frame);

  useEffect(() => {
    const { current } = element;
    if (!current) return;
    const onLoad = () => setState('loaded');
    const onError = () => setState('failed');
    current.addEventListener('load', onLoad);
    current.addEventListener('error', onError);
    import('./model-viewer.js').then(setViewer, onError);
    return () => {
      current.removeEventListener('load', onLoad);
      current.removeEventListener('error', onError);
    };
  }, []);
  useEffect(() => {
    if (viewer && element.current && state === 'loaded') onMeasured(viewer.measure(element.current));
  }, [viewer, state, onMeasured]);
  useEffect(() => {
    if (viewer && element.current && state === 'loaded' && surface !== 'texture') {
      return viewer.showSurface(element.current, surface);
    }
  }, [viewer, state, surface]);

  const toggleFullScreen = () => {
    if (isFullScreen) void document.exitFullscreen();
    else void frame.current?.requestFullscreen();
  };
  return (
    <div class="viewer" ref={frame}>
      <div class="model" data-state={state}>
        <model-viewer
          ref={element}
          src={glb}
          poster={thumbnail}
          alt="3D model. The arrow keys rotate it; plus and minus zoom."
          camera-controls
          camera-orbit={threeQuarterOrbit}
          touch-action="pan-y"
          shadow-intensity={surface === 'wireframe' ? '0' : '0.6'}
          interaction-prompt="none"
          ar
        >
          <Button label="View in your room" slot="ar-button" class="ar" />
        </model-viewer>
        {state === 'failed' && (
          <p role="alert" class="error">
            This browser could not show the model. You can still download its file.
          </p>
        )}
      </div>
      {state === 'loaded' && (
        <div class="row viewer-tools" role="toolbar" aria-label="View">
          <Toggle name="Clay" isOn={surface === 'clay'} onChange={(isOn) => setSurface(isOn ? 'clay' : 'texture')} />
          <Toggle
            name="Wireframe"
            isOn={surface === 'wireframe'}
            onChange={(isOn) => setSurface(isOn ? 'wireframe' : 'texture')}
          />
          <Button label="Reset view" class="small" onClick={() => element.current && resetView(element.current)} />
          {document.fullscreenEnabled && (
            <Button
              label={isFullScreen ? 'Exit full screen' : 'Full screen'}
              class="small"
              onClick={toggleFullScreen}
            />
          )}
        </div>
      )}
    </div>
  );
}
